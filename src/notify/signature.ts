/**
 * Duty: sign a request as the Standard Webhooks have it, so that its receiver knows that it comes from here and is not old.
 * SIGNATURE-1 With several secrets there is a signature of each. So a secret can be replaced, and the receiver can verify a signature at every moment.
 */
import { createHmac } from 'node:crypto'
import { ConfigError } from '../core/errors.ts'

const form = /^whsec_([A-Za-z0-9+/]{32,88}={0,2})$/

export function checkSecrets(secrets: readonly string[]): void {
  for (const secret of secrets)
    if (typeof secret !== 'string' || !form.test(secret))
      throw new ConfigError(
        "a secret of webhooks is not valid: it is whsec_ and 24 to 64 random bytes in base64, as from node -p \"'whsec_' + crypto.randomBytes(32).toString('base64')\".",
      )
}

export function signedHeaders(
  secrets: readonly string[],
  { id, body, atMs }: { readonly id: string; readonly body: string; readonly atMs: number },
): Record<string, string> {
  const timestamp = String(Math.floor(atMs / 1_000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(form.exec(secret)?.[1] ?? '', 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
