/**
 * Installs redis-server on a Debian-like system, as root, without a service being started.
 *
 * Debian's packages start their service unless /usr/sbin/policy-rc.d refuses. Ours refuses only while this process lives and
 * otherwise decides as the one it replaced: even if we are killed before it is put back, it does no harm.
 */
import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { findProgram, isAlive, runProgram } from './program.ts'
import { systemFamily } from './redis-unavailable.ts'

const policyFile = '/usr/sbin/policy-rc.d'
const keptPolicyFile = '/usr/sbin/policy-rc.d.before-troupe'
const ourPolicy = /^# Written by troupe, process (\d+)/m
const installMsMax = 300_000
/** Somebody else's apt-get may be at work. */
const lockSeconds = 120

export type Installation =
  | { readonly kind: 'installed' }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'notPossible' }

export async function installDebianRedis(
  path: string,
  log: (line: string) => void,
  signal?: AbortSignal,
): Promise<Installation> {
  const isDebian =
    process.platform === 'linux' && process.getuid?.() === 0 && /\b(debian|ubuntu)\b/.test(await systemFamily())
  const aptGet = isDebian ? await findProgram(['apt-get'], path) : undefined
  if (!aptGet) return { kind: 'notPossible' }
  // `env` sets the variable, so that nothing here has to read the environment to extend it.
  const env = (await findProgram(['env'], path)) ?? '/usr/bin/env'
  const options = ['-o', `DPkg::Lock::Timeout=${lockSeconds}`, '-o', 'Acquire::Retries=2']
  const run = (...words: string[]) =>
    runProgram(env, ['DEBIAN_FRONTEND=noninteractive', aptGet, '-qq', ...options, ...words], installMsMax)

  log('Installing redis-server (apt-get), without starting it as a service …')
  const allowServices = await refuseServices()
  try {
    const packages = ['install', '--yes', '--no-install-recommends', 'redis-server']
    let result = await run(...packages)
    // Lists of packages that are missing or out of date are the usual reason.
    if (!result.ok && !signal?.aborted && (await run('update')).ok && !signal?.aborted) result = await run(...packages)
    return result.ok ? { kind: 'installed' } : { kind: 'failed', reason: result.output.split('\n').at(-1) ?? '' }
  } finally {
    await allowServices()
  }
}

/** Puts a policy in place that refuses to start services, and returns what puts the old one back. */
async function refuseServices(): Promise<() => Promise<void>> {
  const present = await readFile(policyFile, 'utf8').catch(() => '')
  const writer = Number(ourPolicy.exec(present)?.[1])
  // Another process of troupe is at it, and restores what was there before both.
  if (writer && isAlive(writer)) return async () => {}
  // A process of troupe was killed at it.
  if (writer) await restorePolicy()

  await rename(policyFile, keptPolicyFile).catch(() => {})
  const script = [
    '#!/bin/sh',
    `# Written by troupe, process ${process.pid}, for the time of one installation.`,
    `kill -0 ${process.pid} 2>/dev/null && exit 101`,
    `[ -x ${keptPolicyFile} ] && exec ${keptPolicyFile} "$@"`,
    'exit 0',
    '',
  ]
  await writeFile(policyFile, script.join('\n'))
  await chmod(policyFile, 0o755)
  return restorePolicy
}

async function restorePolicy(): Promise<void> {
  await rename(keptPolicyFile, policyFile).catch(() => rm(policyFile, { force: true }))
}
