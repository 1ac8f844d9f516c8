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

/** Packages of code for one system, by what comes before the name of the system: `@oxlint/binding`, `node`. */
const families = Map.groupBy(
  installed.map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)),
  (name) => name.replace(/(?:-bin)?[-/](?:darwin|linux)-(?:arm64|x64)\b.*$/, ''),
)
const systemsOf = (names: readonly string[]) =>
  names.flatMap((name) => /(?:darwin|linux)-(?:arm64|x64)(?!.*musl)/.exec(name)?.[0] ?? [])
const forSystems = [...families].map(([family, names]) => [family, systemsOf(names)] as const)

test.each(forSystems.filter(([, systems]) => systems.length > 0))(
  '%s is locked for Linux and for macOS, on both processors',
  (_, systems) => {
    expect([...new Set(systems)].sort()).toEqual(['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'])
  },
)
