/** A namespace of one test: its name says which file made it, so that keys left behind can be traced. */
import { randomBytes } from 'node:crypto'
import { basename } from 'node:path'
import { expect } from 'vitest'

/** Outside of vitest a name must be given. */
export function newNamespace(name?: string): string {
  const file = (name ?? basename(expect.getState().testPath ?? 'test', '.test.ts')).replace(/[^A-Za-z0-9_-]/g, '-')
  return `${file.slice(0, 40)}-${randomBytes(6).toString('hex')}`
}
