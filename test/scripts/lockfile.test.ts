/** What the lockfile says of each package: its exact version and the digest of its content, also for systems other than this one. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

interface LockedPackage {
  readonly version?: string
  readonly integrity?: string
  readonly resolved?: string
  readonly link?: boolean
}

const text = readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')
const { packages } = JSON.parse(text) as { packages: Record<string, LockedPackage> }
const installed = Object.entries(packages).filter(([path, { link }]) => path.includes('node_modules/') && !link)

test('each package has a digest, and none names a registry', () => {
  expect(installed.length).toBeGreaterThan(300)
  expect(installed.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')).map(([path]) => path)).toEqual([])
  expect(installed.filter(([, { resolved }]) => resolved?.startsWith('http')).map(([path]) => path)).toEqual([])
})
