/** What a node logs and no test may bring about: a turn met an unexpected error, or an event that does not apply to the state of a run was ignored. */
export function isNodeFault(message: string, what: unknown): boolean {
  return message.startsWith('a turn met an unexpected error') || /^[a-zA-Z]+ in state /.test(String(what))
}
