/** The layers and sizes that ARCHITECTURE.md promises, over src/ and workers/; and that each rule would notice a violation. */
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import {
  confinement,
  coreIsPure,
  importsExist,
  layers,
  namedFilesExist,
  noCycles,
  noDefaultExports,
  noExportAll,
  onlyConfigReadsTheEnvironment,
  partsRunInBrowsers,
  type Rule,
  roomsPointOneWay,
  smallFiles,
  smallFunctions,
  smallRooms,
  workersSeeThePackage,
} from './architecture/rules.ts'
import { readSources, sourceFile } from './architecture/source-graph.ts'

const sources = await readSources(fileURLToPath(new URL('..', import.meta.url)), ['src', 'workers'])

interface Claim {
  readonly claim: string
  readonly rule: Rule
  /** Files that break it, and the files that must be named for it. */
  readonly broken: Readonly<Record<string, string>>
  readonly blamed: readonly string[]
  /** Files that look like it and do not break it. */
  readonly fine?: Readonly<Record<string, string>>
}

const claims: readonly Claim[] = [
  {
    claim: 'imports point down only, and the layers in the middle do not know each other',
    rule: layers,
    broken: {
      'src/core/a.ts': "import { b } from '../store/b.ts'\n",
      'src/core/c.ts': "import { readConfig } from '../config.ts'\n",
      'src/store/b.ts': "import type {\n  Queue,\n  Ring,\n} from '../wake/c.ts'\n",
      'src/wake/c.ts': "export { b } from '../store/b.ts'\n",
      'src/submit/m.ts': "import { c } from '../wake/c.ts'\n",
      'src/runtime/d.ts': "const { b } = await import('../store/b.ts')\n",
      'src/runtime/e.ts': "let b: import('../client/client.ts').Troupe\n",
      'src/dev/f.ts': "import '../core/a.ts'\n",
      'src/client/g.ts': "import { h } from '../compose.ts'\n",
      'src/api/n.ts': "import { b } from '../store/b.ts'\n",
      'src/cli/h.ts': "const { crashMatrix } = await import('../testing/index.ts')\n",
      'src/cli/i.ts': "import { Turn } from '../runtime/turn.ts'\n",
      'src/index.ts': "import { Turn } from './runtime/turn.ts'\n",
      'src/log.ts': "import { readConfig } from './config.ts'\n",
      'src/helpers/k.ts': "import { b } from '../core/b.ts'\n",
      'src/core/l.ts': "import { b } from '../../workers/reader.ts'\n",
    },
    blamed: [
      'src/api/n.ts',
      'src/client/g.ts',
      'src/cli/h.ts',
      'src/cli/i.ts',
      'src/core/a.ts',
      'src/core/c.ts',
      'src/core/l.ts',
      'src/dev/f.ts',
      'src/helpers/k.ts',
      'src/index.ts',
      'src/log.ts',
      'src/submit/m.ts',
      'src/wake/c.ts',
      'src/runtime/d.ts',
      'src/runtime/e.ts',
      'src/store/b.ts',
    ],
    fine: {
      'src/core/x.ts': "import { z } from './z.ts'\n",
      'src/store/x.ts': "import { z } from '../core/z.ts'\nimport { y } from './y.ts'\n",
      'src/dev/x.ts': "import { readConfig } from '../config.ts'\n",
      'src/compose.ts': "import { z } from './store/z.ts'\nimport { y } from './runtime/y.ts'\n",
      'src/testing/x.ts': "import { Turn } from '../runtime/turn.ts'\nimport { z } from '../compose.ts'\n",
      'src/cli/x.ts': "import { z } from '../compose.ts'\nimport { y } from '../core/y.ts'\n",
      'src/runtime/x.ts': "// import { b } from '../store/b.ts'\n/**\n * import('../store/b.ts')\n */\n",
    },
  },
  {
    claim: 'ioredis is known to the store alone, bullmq to the rooms of wake-ups and of submissions, and so on',
    rule: confinement,
    broken: {
      'src/runtime/a.ts': "import type { Redis } from 'ioredis'\n",
      'src/wake/b.ts': "import { Redis } from 'ioredis'\n",
      'src/store/c.ts': "import { Queue } from 'bullmq'\n",
      'src/client/d.ts': "const { pino } = await import('pino')\n",
      'src/wake/e.ts': "import { type RedisOptions, Redis } from 'ioredis'\n",
    },
    blamed: ['src/client/d.ts', 'src/wake/b.ts', 'src/wake/e.ts', 'src/runtime/a.ts', 'src/store/c.ts'],
    fine: {
      'src/wake/x.ts': "import { Queue } from 'bullmq'\nimport type { Redis } from 'ioredis'\n",
      'src/submit/z.ts': "import { Worker } from 'bullmq'\nimport type { Redis } from 'ioredis'\n",
      'src/wake/y.ts': "import { type Redis, type RedisOptions } from 'ioredis'\n",
      'src/store/x.ts': "import { Redis } from 'ioredis'\n",
      'src/core/x.ts': "import type { z } from 'zod'\nimport { v7 } from 'uuid'\n",
    },
  },
  {
    claim: 'the page and the client of the HTTP API load nothing that a browser lacks',
    rule: partsRunInBrowsers,
    broken: {
      'src/page/a.ts': "import { hash } from 'node:crypto'\n",
      'src/page/b.tsx': "import { Troupe } from '../client/client.ts'\n",
      'src/page/c.ts': "import { print } from '../cli/terminal/output.ts'\n",
      'src/http/d.ts': "import { z } from '../core/z.ts'\n",
    },
    blamed: ['src/page/a.ts', 'src/page/b.tsx', 'src/page/c.ts', 'src/http/d.ts'],
    fine: {
      'src/http/z.ts': "import type { Report } from '../core/report.ts'\nimport { a } from './a.ts'\n",
      'src/page/x.tsx': "import type { Report } from '../client/report.ts'\nimport { z } from '../core/z.ts'\n",
      'src/page/y.ts': "import { escapeLine } from '../words/text/escape.ts'\nimport { useState } from 'react'\n",
    },
  },
  {
    claim: 'workers import the package, as their users do, and modules of their own',
    rule: workersSeeThePackage,
    broken: {
      'workers/a.ts': "import { defineWorker } from '../src/core/definition/define-worker.ts'\n",
      'workers/b.ts': "import { Redis } from 'ioredis'\n",
      'workers/c.ts': "import a from './a.ts'\n",
    },
    blamed: ['workers/a.ts', 'workers/b.ts', 'workers/c.ts'],
    fine: {
      'workers/x.ts':
        "import { readFile } from 'node:fs/promises'\nimport { parse } from 'smol-toml'\nimport { defineWorker } from 'troupe'\nimport { z } from 'zod'\nimport { y } from './_own/y.ts'\n",
      'workers/_own/y.ts': "import { z } from './z.ts'\n",
    },
  },
  {
    claim: 'core reads no clock, sets no timer and does no I/O',
    rule: coreIsPure,
    broken: {
      'src/core/a.ts': 'export const at = Date.now()\n',
      'src/core/b.ts': "import { readFile } from 'node:fs/promises'\n",
      'src/core/c.ts': 'setTimeout(() => {}, 1)\n',
    },
    blamed: ['src/core/a.ts', 'src/core/b.ts', 'src/core/c.ts'],
    fine: {
      'src/core/x.ts': "import { createHash } from 'node:crypto'\n// Date.now\n",
      'src/store/x.ts': 'export const at = Date.now()\n',
    },
  },
  {
    claim: 'config.ts alone reads the environment',
    rule: onlyConfigReadsTheEnvironment,
    broken: {
      'src/cli/a.ts': 'const url = process.env.REDIS_URL\n',
      'src/cli/b.ts': "const url = process['env']\n",
      'src/cli/c.ts': 'const { env } = process\n',
      'workers/d.ts': 'const url = process.env.REDIS_URL\n',
    },
    blamed: ['src/cli/a.ts', 'src/cli/b.ts', 'src/cli/c.ts', 'workers/d.ts'],
    fine: { 'src/config.ts': 'export const url = process.env.REDIS_URL\n', 'src/cli/x.ts': 'process.exit(1)\n' },
  },
  {
    claim: 'src has no default exports',
    rule: noDefaultExports,
    broken: { 'src/cli/a.ts': 'export default 1\n', 'src/cli/b.ts': 'const a = 1\nexport { a as default }\n' },
    blamed: ['src/cli/a.ts', 'src/cli/b.ts'],
    fine: { 'workers/x.ts': 'export default defineWorker({})\n', 'src/x.ts': '// export default\n' },
  },
  {
    claim: 'nothing exports everything of another file',
    rule: noExportAll,
    broken: { 'src/index.ts': "export * from './core/a.ts'\n", 'src/a.ts': "export type * from './core/a.ts'\n" },
    blamed: ['src/index.ts', 'src/a.ts'],
    fine: { 'src/b.ts': "export { a } from './core/a.ts'\n" },
  },
  {
    claim: 'no import leads back to where it began',
    rule: noCycles,
    broken: {
      'src/core/a.ts': "import { b } from './b.ts'\n",
      'src/core/b.ts': "import type { c } from './c.ts'\n",
      'src/core/c.ts': "import { a } from './a.ts'\n",
    },
    blamed: ['src/core/a.ts'],
    fine: { 'src/core/x.ts': "import { y } from './y.ts'\n", 'src/core/y.ts': 'export const y = 1\n' },
  },
  {
    claim: 'every import of ours is there',
    rule: importsExist,
    broken: { 'src/core/a.ts': "import { b } from './b.ts'\n" },
    blamed: ['src/core/a.ts'],
    fine: { 'src/core/x.ts': "import { y } from './y.ts'\n", 'src/core/y.ts': 'export const y = 1\n' },
  },
  {
    claim: 'a file that a comment names is there',
    rule: namedFilesExist,
    broken: { 'src/core/a.ts': '/** The form: core/b.ts. */\n' },
    blamed: ['src/core/a.ts'],
    fine: {
      'src/core/x.ts': '/** The form: core/y.ts. Written by scripts/z.ts, as in `tools/fetch.ts:8:9`. */\n',
      'src/core/y.ts': '',
    },
  },
  {
    claim: 'screens and the frame of the page import its parts, and what people do imports the fleet, not the reverse',
    rule: roomsPointOneWay,
    broken: {
      'src/client/fleet/a.ts': "import { b } from '../person/b.ts'\n",
      'src/page/parts/text/c.tsx': "import { d } from '../../app/d.ts'\n",
      'src/page/parts/list/e.ts': "import type { F } from '../../screens/f.tsx'\n",
    },
    blamed: ['src/client/fleet/a.ts', 'src/page/parts/text/c.tsx', 'src/page/parts/list/e.ts'],
    fine: {
      'src/client/person/x.ts': "import { y } from '../fleet/y.ts'\n",
      'src/page/app/z.tsx': "import { w } from '../parts/text/w.tsx'\n",
    },
  },
  {
    claim: 'no file is longer than 400 lines',
    rule: smallFiles,
    broken: { 'src/core/a.ts': 'a\n'.repeat(401) },
    blamed: ['src/core/a.ts'],
    fine: { 'src/core/x.ts': 'a\n'.repeat(400) },
  },
  {
    claim: 'no folder has more than 16 files of its own',
    rule: smallRooms,
    broken: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`src/core/room/a${index}.ts`, ''])),
    blamed: ['src/core/room'],
    fine: {
      ...Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`src/core/room/a${index}.ts`, ''])),
      'src/core/room/inner/x.ts': '',
    },
  },
  {
    claim: 'no function is longer than 70 lines',
    rule: smallFunctions,
    broken: {
      'src/core/a.ts': `export function a(): void {\n${'  b()\n'.repeat(69)}}\n`,
      'src/core/b.ts': `class A {\n  async b(one: string): Promise<void> {\n${'    c()\n'.repeat(69)}  }\n}\n`,
      'src/core/c.ts': `const a = () => {\n${'  b()\n'.repeat(69)}}\n`,
      'src/core/d.ts': `function a(\n  one: string,\n): void {\n${'  b()\n'.repeat(67)}}\n`,
    },
    blamed: ['src/core/a.ts', 'src/core/b.ts', 'src/core/c.ts', 'src/core/d.ts'],
    fine: {
      'src/core/x.ts': `export function a(): void {\n${'  b()\n'.repeat(68)}}\n`,
      'src/core/y.ts': `export class A {\n${'  b = 1\n'.repeat(200)}}\n`,
      'src/core/z.ts': `for (const a of b()) {\n${'  c()\n'.repeat(100)}}\n`,
    },
  },
]

describe('the architecture', () => {
  test('sources and their imports are found', () => {
    expect(sources.length).toBeGreaterThan(60)
    expect(sources.flatMap((file) => file.imports).length).toBeGreaterThan(250)
    const definition = sources.find(({ path }) => path === 'src/core/definition/define-worker.ts')
    expect(definition?.imports).toContainEqual({ from: 'zod', file: null, pack: 'zod', typeOnly: true })
    const store = sources.find(({ path }) => path === 'src/store/turn/turn-store.ts')
    expect(store?.imports).toContainEqual({
      from: '../../core/errors.ts',
      file: 'src/core/errors.ts',
      pack: null,
      typeOnly: false,
    })
  })

  test.each(claims)('$claim', ({ rule }) => {
    expect(rule(sources)).toEqual([])
  })
})

describe('a violation is noticed:', () => {
  test.each(claims)('$claim', ({ rule, broken, blamed }) => {
    const found = rule(Object.entries(broken).map(([path, text]) => sourceFile(path, text)))
    const files = new Set(found.map((line) => /^[\w./-]+/.exec(line)?.[0] ?? line))
    expect(files).toEqual(new Set(blamed))
  })

  test.each(claims)('code that only looks like a violation is not reported: $claim', ({ rule, fine = {} }) => {
    expect(rule(Object.entries(fine).map(([path, text]) => sourceFile(path, text)))).toEqual([])
  })
})
