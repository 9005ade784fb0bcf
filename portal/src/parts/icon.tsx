// SPDX-License-Identifier: Apache-2.0
// All drawings, 16 by 16, in the colour of the text around them. Different shapes: colour alone tells nobody anything.

const shapes = {
  waiting: (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d="M8 4.5V8l2.5 1.5" />
    </>
  ),
  held: <path d="M5.5 3.5v9M10.5 3.5v9" stroke-width="2.5" />,
  assigned: (
    <>
      <path d="M8 2v7.5M5 7l3 3 3-3" />
      <path d="M2.5 11v2.5h11V11" />
    </>
  ),
  running: <path d="M4.5 3v10l8.5-5z" fill="currentColor" />,
  finished: <path d="M3 8.5l3.5 3.5L13 4.5" stroke-width="2.2" />,
  failed: <path d="M4 4l8 8M12 4l-8 8" stroke-width="2.2" />,
  cancelled: (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d="M3.800 3.800l8.400 8.400" />
    </>
  ),
  up: <path d="M3 8.5l3.5 3.5L13 4.5" stroke-width="2.2" />,
  silent: (
    <>
      <path d="M8 2.5L14.5 13.5h-13z" />
      <path d="M8 6.5v3.5M8 11.700v.3" />
    </>
  ),
  never: <circle cx="8" cy="8" r="5.5" stroke-dasharray="2.5 2" />,
  live: (
    <>
      <circle cx="8" cy="8" r="2.2" fill="currentColor" stroke="none" />
      <path d="M4.5 11.5a5 5 0 010-7M11.5 4.5a5 5 0 010 7" />
    </>
  ),
  lost: (
    <>
      <path d="M8 2.5L14.5 13.5h-13z" />
      <path d="M8 6.5v3.5M8 11.700v.3" />
    </>
  ),
  sun: (
    <>
      <circle cx="8" cy="8" r="3" />
      <path d="M8 1v2M8 13v2M1 8h2M13 8h2M3 3l1.5 1.5M11.5 11.5L13 13M3 13l1.5-1.5M11.5 4.5L13 3" />
    </>
  ),
  moon: <path d="M13.5 9.5A6 6 0 016.5 2.5a6 6 0 107 7z" />,
  system: (
    <>
      <circle cx="8" cy="8" r="6" />
      <path d="M8 2a6 6 0 010 12z" fill="currentColor" />
    </>
  ),
  ship: (
    <>
      <path d="M8 1.5v8M8 2c3 1 4.200 3.5 4.200 6.5H8" />
      <path d="M1 9.5c1 3.5 3 4.5 7 4.5s6-1 7-4.5c-2 1.300-4 1.600-7 1.600s-5-.3-7-1.600z" fill="currentColor" />
    </>
  ),
  copy: (
    <>
      <path d="M5.5 5.5h8v8h-8z" />
      <path d="M10.5 5.5v-3h-8v8h3" />
    </>
  ),
  search: (
    <>
      <circle cx="7" cy="7" r="4.5" />
      <path d="M10.5 10.5L14 14" />
    </>
  ),
  download: (
    <>
      <path d="M8 2v8M4.5 7L8 10.5 11.5 7" />
      <path d="M2.5 13.5h11" />
    </>
  ),
  close: <path d="M4 4l8 8M12 4l-8 8" />,
  slow: <path d="M8 3l5.5 9.5h-11z" fill="currentColor" />,
};

export type IconName = keyof typeof shapes;

export function Icon(props: { name: IconName }) {
  return (
    <svg
      class="icon"
      viewBox="0 0 16 16"
      width="16"
      height="16"
      aria-hidden="true"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
    >
      {shapes[props.name]}
    </svg>
  );
}
