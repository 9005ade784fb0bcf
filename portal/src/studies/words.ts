// SPDX-License-Identifier: Apache-2.0
import type { StudyHead } from "../api/types";

export function goalOf(study: StudyHead): string {
  return study.objectives.map(({ metric, direction }) => `${direction} ${metric}`).join(", ");
}

export function countsOf(study: StudyHead): string {
  const words = Object.entries(study.counts)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${count} ${state}`);
  return words.join(", ") || "none yet";
}
