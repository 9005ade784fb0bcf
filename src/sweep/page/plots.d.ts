// SPDX-License-Identifier: Apache-2.0
// For the portal, which is TypeScript.
export function draw(root: HTMLElement, study: unknown): void;
export function short(value: unknown): string;
