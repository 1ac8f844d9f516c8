/** A program that answers an ask when it is told to, and tells what it was answered: one of many that answer at the same moment. */
import { connect } from '../../src/client/client.ts'
import { RuntimeError } from '../../src/core/errors.ts'

interface Order {
  readonly redisUrl: string
  readonly namespace: string
  readonly ask: string
  readonly by: string
}

export interface Told {
  readonly by: string
  /** Null if the answer counted. */
  readonly refusal: { readonly code: string; readonly message: string } | null
}

const { redisUrl, namespace, ask, by } = JSON.parse(process.argv[2] ?? '{}') as Order
process.on('disconnect', () => process.exit(1))
const client = await connect({ redisUrl, namespace })
const go = new Promise((resolve) => process.once('message', resolve))
process.send?.('ready')
await go
const refusal = await client.asks.answer(ask, `from ${by}`, { by }).then(
  () => null,
  (error: unknown) => {
    if (!(error instanceof RuntimeError)) throw error
    return { code: error.code, message: error.message }
  },
)
process.send?.({ by, refusal } satisfies Told)
await client.close()
process.disconnect()
