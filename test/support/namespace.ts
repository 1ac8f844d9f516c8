/** A namespace of one test: its name says which file made it, so that keys left behind can be traced. */
import { randomBytes } from 'node:crypto'
import { basename } from 'node:path'
import { expect } from 'vitest'

const made = new Set<string>()

/** The namespaces of this test file, and of the files before it in the same process. */
export function namespacesMade(): ReadonlySet<string> {
  return made
}

/** Outside of vitest a name must be given. */
export function newNamespace(name?: string): string {
  const file = (name ?? basename(expect.getState().testPath ?? 'test', '.test.ts')).replace(/[^A-Za-z0-9_-]/g, '-')
  const namespace = `${file.slice(0, 40)}-${randomBytes(6).toString('hex')}`
  made.add(namespace)
  return namespace
}
