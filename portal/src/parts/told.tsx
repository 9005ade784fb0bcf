// SPDX-License-Identifier: Apache-2.0
// A sentence that may name an option of a command: a line never breaks within one.
export function Told(props: { text: string }) {
  return (
    <>
      {props.text.split(/(--\S+)/).map((part, i) =>
        i % 2 ? (
          <span key={i} class="whole">
            {part}
          </span>
        ) : (
          part
        ),
      )}
    </>
  );
}
