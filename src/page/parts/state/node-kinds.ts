/** Duty: how many kinds of a node stand in a line about it, and which ones are left. */
const most = 8

export function kindsOfNode(kinds: readonly string[]): { readonly first: string; readonly others: readonly string[] } {
  return { first: kinds.slice(0, most).join(', '), others: kinds.slice(most) }
}
