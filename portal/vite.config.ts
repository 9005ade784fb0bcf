// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vite";

export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // a data: address would need a wider content security policy
    reportCompressedSize: false,
  },
  // `npm run dev` beside `npm run fake`, or beside a real hub.
  server: { proxy: { "/v1": process.env.LONGSHIP_HUB ?? "http://127.0.0.1:8471" } },
});
