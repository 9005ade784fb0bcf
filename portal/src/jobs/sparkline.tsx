// SPDX-License-Identifier: Apache-2.0
import { useEffect } from "preact/hooks";
import { useStore } from "../api/store";
import type { Job } from "../api/types";
import { figure } from "../format";
import { courseOf, mainMetric, watchCourse, type Course } from "./metric";

const width = 84;
const height = 20;

export function Sparkline(props: { job: Job }) {
  const metric = mainMetric(props.job.progress?.values ?? {});
  return metric ? <Drawn key={`${props.job.id}.${props.job.attempt}`} job={props.job} metric={metric} /> : null;
}

function Drawn({ job, metric }: { job: Job; metric: string }) {
  const course = useStore(courseOf(job, metric));
  useEffect(() => watchCourse(job, metric), [job.id, job.attempt, metric]);
  const value = job.progress?.values[metric];
  return (
    <>
      <svg class="sparkline" width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
        {course.length > 1 && <path d={outline(course)} />}
      </svg>
      <span class="metric">
        <span class="muted">{metric}</span> {figure(value)}
      </span>
    </>
  );
}

export function outline(course: Course): string {
  const steps = course.map(([step]) => step);
  const values = course.map(([, value]) => value);
  const [left, right] = [Math.min(...steps), Math.max(...steps)];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const x = (step: number) => (right > left ? ((step - left) / (right - left)) * (width - 4) + 2 : width / 2);
  const y = (value: number) => (high > low ? (1 - (value - low) / (high - low)) * (height - 4) + 2 : height / 2);
  return course.map(([step, value], i) => `${i ? "L" : "M"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`).join("");
}
