/** Duty: what identifies a worker to its own code: to `receive`, and to a function for instructions. */
export interface WorkerIdentity {
  readonly id: string
  readonly name: string
  readonly kind: string
  readonly sessionId: string
  /** Null for the root of a session. */
  readonly parentId: string | null
  /** The root has depth 0; a spawn at `limits.depth` is refused. */
  readonly depth: number
}
