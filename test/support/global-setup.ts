/**
 * One throw-away Redis for the whole test run; tests get its URL with `inject('redisUrl')`. And one folder, with built programs and compiled
 * modules: tests start some thousand processes from the same sources, and loading these took most of each start. The temporary folders of tests
 * and of their processes are in it too, and go with it. A run that was killed leaves its folder; the next run removes that.
 */
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { isAlive } from '../../src/dev/program.ts'
import { openRedis } from '../../src/store/redis/redis.ts'
import { buildPrograms } from './package/built-programs.ts'
import { startTestRedis } from './redis/redis.ts'
import { hasFunctions } from './redis/redis-functions.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    redisUrl: string
    /** The folder of this run, for files that its processes share; it is removed when the run ends. */
    folder: string
    /** false: it is Redis 6.2. */
    hasFunctions: boolean
  }
}

const name = 'troupe-tests-'

async function removeFoldersOfEndedRuns(): Promise<void> {
  for (const entry of await readdir(tmpdir())) {
    const [, pid] = /^troupe-tests-(\d+)-/.exec(entry) ?? []
    if (pid !== undefined && !isAlive(Number(pid)))
      await rm(join(tmpdir(), entry), { recursive: true, force: true, maxRetries: 20 })
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  // The processes of vitest get the environment of this one, and those that they start get it from them (shared-env.ts).
  await removeFoldersOfEndedRuns()
  const folder = await mkdtemp(join(tmpdir(), `${name}${process.pid}-`))
  process.env.NODE_COMPILE_CACHE ??= join(folder, 'compiled')
  process.env.TMPDIR = join(folder, 'tmp')
  await mkdir(process.env.TMPDIR)
  project.provide('folder', folder)
  const programs = join(folder, 'programs')
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} ${await buildPrograms(programs)}`.trim()
  project.onTestsRerun(async () => void (await buildPrograms(programs)))
  const redis = await startTestRedis((line) => process.stderr.write(`${line}\n`))
  process.stderr.write(`Tests use ${redis.description}.\n`)
  project.provide('redisUrl', redis.url)
  const admin = openRedis(redis.url)
  project.provide('hasFunctions', await hasFunctions(admin))
  admin.disconnect()
  return async () => {
    await redis.stop()
    await rm(folder, { recursive: true, force: true, maxRetries: 20 })
  }
}
