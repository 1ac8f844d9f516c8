/** Duty: the name of a worker with its kind, the same wherever it is shown. */

/** `reader` for a reader without a name of its own, else `docs (reader)`. */
export function nameAndKind(name: string, kind: string): string {
  return name === kind || name === '' ? kind : `${name} (${kind})`
}
