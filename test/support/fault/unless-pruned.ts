/** Null in place of what somebody has pruned meanwhile. Other errors stay errors. */
import { NotFoundError } from '../../../src/core/errors.ts'

export function unlessPruned<T>(read: Promise<T>): Promise<T | null> {
  return read.catch((error: unknown) => {
    if (error instanceof NotFoundError) return null
    throw error
  })
}
