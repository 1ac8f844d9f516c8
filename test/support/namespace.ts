/** A namespace of one test: its name says which file made it, so that keys left behind can be traced. */
import { randomBytes } from 'node:crypto'
import { basename } from 'node:path'
import { expect } from 'vitest'

export function newNamespace(): string {
  const file = basename(expect.getState().testPath ?? 'test', '.test.ts').replace(/[^A-Za-z0-9_-]/g, '-')
  return `${file.slice(0, 40)}-${randomBytes(6).toString('hex')}`
}
