/** A worker whose message goes to the dead letters with its next claim. */
import { workerKeys } from '../../../src/store/keys.ts'
import type { TestTroupe } from '../../support/test-troupe.ts'

/** Leaves a worker as if it had taken its node down again and again. */
export async function blame(troupe: TestTroupe, workerId: string): Promise<void> {
  await troupe.redis.hset(workerKeys(troupe.tag, workerId).record, 'isolated', '3', 'crashes', '5')
}
