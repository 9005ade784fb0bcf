// SPDX-License-Identifier: Apache-2.0
// Requests to the hub. Whatever goes wrong is thrown as a Refusal: a sentence that can be shown as it is.
import { forgetToken, token } from "./token";
import type { Job, JobDetails, JobList, Metrics, Report, Site, Study, StudyHead, Why } from "./types";

export class Refusal extends Error {
  constructor(
    readonly status: number, // 0: the hub did not answer
    sentence: string,
  ) {
    super(sentence);
  }
}

export type Verb = "cancel" | "hold" | "release" | "retry";

export interface JobFilter {
  state?: string;
  text?: string;
  site?: string;
  owner?: string;
  team?: string;
  name?: string;
}

export async function request(path: string, options: RequestInit = {}): Promise<Response> {
  const used = token.value;
  const headers = new Headers(options.headers);
  headers.set("Authorization", `Bearer ${used}`);
  let response: Response;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refusal(0, "The hub does not answer. If it was stopped, “longship up” starts it again; nothing is lost.");
  }
  if (response.ok) return response;
  if (response.status === 401) forgetToken(used);
  throw new Refusal(response.status, await sentenceOf(response));
}

async function sentenceOf(response: Response): Promise<string> {
  try {
    const body: unknown = JSON.parse(await response.text());
    if (body && typeof body === "object" && "error" in body && typeof body.error === "string")
      return sentence(body.error);
  } catch {
    // not one of ours: a proxy's page, say
  }
  return `The hub answered with ${response.status} ${response.statusText}.`;
}

function sentence(text: string): string {
  const trimmed = text.trim();
  if (!trimmed) return "The hub refused without saying why.";
  const begun = trimmed[0]!.toUpperCase() + trimmed.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

function query(values: object): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== undefined && value !== "") words.set(name, String(value));
  const text = words.toString();
  return text ? `?${text}` : "";
}

const json = async <T>(path: string, options?: RequestInit): Promise<T> => (await request(path, options)).json();
const jobPath = (id: string) => `/v1/jobs/${encodeURIComponent(id)}`;

export const api = {
  jobs: (filter: JobFilter, before: string, limit: number, signal?: AbortSignal) =>
    json<JobList>(`/v1/jobs${query({ ...filter, before, limit })}`, { signal }),
  job: (id: string) => json<JobDetails>(jobPath(id)),
  why: (id: string) => json<Why>(`${jobPath(id)}/why`),
  change: (id: string, verb: Verb) => json<Job>(`${jobPath(id)}/${verb}`, { method: "POST" }),
  metrics: (id: string, attempt: number, points: number) =>
    json<Metrics>(`${jobPath(id)}/metrics${query({ attempt, points })}`),
  report: (id: string, attempt: number) => json<Report>(`${jobPath(id)}/report${query({ attempt })}`),
  studies: async () => (await json<{ studies: StudyHead[] }>("/v1/studies")).studies,
  study: (owner: string, name: string) =>
    json<Study>(`/v1/studies/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`),
  sites: async () => (await json<{ sites: Site[] }>("/v1/sites")).sites,
  file: (id: string, attempt: number, name: string) =>
    request(`${jobPath(id)}/files/${name.split("/").map(encodeURIComponent).join("/")}${query({ attempt })}`),

  // A part of what a rank said; `from` < 0 counts from the end.
  async log(
    id: string,
    which: { attempt: number; rank: number; stream: string },
    from: number,
    length: number,
    signal?: AbortSignal,
  ) {
    const response = await request(`${jobPath(id)}/log${query({ ...which, from, length })}`, { signal });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const number = (name: string, otherwise: number) => Number(response.headers.get(name) ?? otherwise);
    const start = number("X-Longship-From", Math.max(0, from));
    return { bytes, from: start, size: number("X-Longship-Size", start + bytes.length) };
  },
};
