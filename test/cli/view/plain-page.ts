import type { Page } from '../../../src/cli/view/page.ts'

/** A page without colours; by default without a terminal. */
export function plainPage(columns = Number.POSITIVE_INFINITY): Page {
  return { columns, paint: (_style, text) => text }
}
