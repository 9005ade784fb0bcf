// SPDX-License-Identifier: Apache-2.0
// What is shown is in the address: these change it.
import { useEffect, useRef, useState } from "preact/hooks";
import type { JobFilter } from "../api/client";
import { states, type JobList } from "../api/types";
import { grouped } from "../format";
import { Icon } from "../parts/icon";
import { setQuery } from "../shell/router";

export const filterNames = ["state", "text", "site", "owner", "team", "name"] as const;

export function filterOf(query: URLSearchParams): JobFilter {
  const filter: JobFilter = {};
  for (const name of filterNames) {
    const value = query.get(name);
    if (value) filter[name] = value;
  }
  return filter;
}

export function clearFilters(): void {
  setQuery(Object.fromEntries(filterNames.map((name) => [name, null])));
}

interface Choices {
  site: string[];
  owner: string[];
  team: string[];
}

export function Filters(props: { filter: JobFilter; counts: JobList["counts"]; choices: Choices }) {
  const { filter, counts } = props;
  const all = states.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  return (
    <div class="filters">
      <div class="chips" role="group" aria-label="State">
        <Chip label="all" count={all} on={!filter.state} onClick={() => setQuery({ state: null })} />
        {states.map((state) => (
          <Chip
            key={state}
            label={state}
            count={counts[state] ?? 0}
            on={filter.state === state}
            onClick={() => setQuery({ state: filter.state === state ? null : state })}
          />
        ))}
      </div>
      <div class="selects">
        {(["site", "owner", "team"] as const).map((name) => (
          <Choice key={name} name={name} value={filter[name] ?? ""} choices={props.choices[name]} />
        ))}
        {filter.name && (
          <button class="token-filter" onClick={() => setQuery({ name: null })}>
            name {filter.name} <Icon name="close" />
          </button>
        )}
        <Search text={filter.text ?? ""} />
      </div>
    </div>
  );
}

function Chip(props: { label: string; count: number; on: boolean; onClick: () => void }) {
  return (
    <button class={`chip ${props.count ? "" : "none"}`} aria-pressed={props.on} onClick={props.onClick}>
      {props.label} <span class="number">{grouped(props.count)}</span>
    </button>
  );
}

function Choice(props: { name: string; value: string; choices: string[] }) {
  const all = [...new Set(props.value ? [...props.choices, props.value] : props.choices)].filter(Boolean).sort();
  if (all.length < 2 && !props.value) return null;
  return (
    <select
      aria-label={props.name}
      value={props.value}
      data-on={props.value ? "" : undefined}
      onChange={(event) => setQuery({ [props.name]: event.currentTarget.value || null })}
    >
      <option value="">any {props.name}</option>
      {all.map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  );
}

function Search(props: { text: string }) {
  const [text, setText] = useState(props.text);
  const timer = useRef(0);
  useEffect(() => setText(props.text), [props.text]);
  const typed = (next: string) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setQuery({ text: next.trim() || null }), 120);
  };
  return (
    <label class="search">
      <Icon name="search" />
      <input
        id="search"
        type="search"
        aria-label="Search jobs"
        placeholder="search ( / )"
        value={text}
        onInput={(event) => typed(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            if (text) typed("");
            else event.currentTarget.blur();
          } else if (event.key === "Enter") event.currentTarget.blur();
        }}
      />
    </label>
  );
}
