/** Duty: the sentence of a request that was not accepted, and the status in it: BullMQ keeps only the sentence. */

export function notAccepted(host: string, status: number): string {
  return `${host} answered with status ${status}`
}

export function statusIn(reason: string | null): number | null {
  const status = / answered with status (\d+)$/.exec(reason ?? '')?.[1]
  return status === undefined ? null : Number(status)
}
