/** Duty: what a node registers of a kind that it hosts. */
export interface HostedKind {
  readonly kind: string
  readonly pool: string
  readonly description: string
  /** The window of its model in tokens, if its author says it. */
  readonly window?: number | undefined
  /** JSON Schema of its inputs, if it has one that is not too long. */
  readonly input?: Readonly<Record<string, unknown>> | undefined
}
