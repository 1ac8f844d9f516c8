/**
 * Duty: install a package on a Debian-like system, as root, without starting it as a service.
 * DEBIAN-1 Debian's packages start their service unless /usr/sbin/policy-rc.d refuses. Our policy refuses only while this process lives;
 *          otherwise it decides as the policy that it replaced. It therefore does no harm if this process is killed before it restores that one.
 */
import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { findProgram, isAlive, runProgram } from './program.ts'
import { systemIds } from './redis-unavailable.ts'

const policyFile = '/usr/sbin/policy-rc.d'
const keptPolicyFile = '/usr/sbin/policy-rc.d.before-troupe'
const ourPolicy = /^# Written by troupe, process (\d+)/m
const installMsMax = 300_000
/** How long apt-get waits for the lock of another apt-get. */
const lockSeconds = 120

export type Installation =
  | { readonly kind: 'installed' }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'notPossible' }

export async function installDebianPackage(
  name: string,
  path: string,
  log: (line: string) => void,
  signal?: AbortSignal,
): Promise<Installation> {
  const isDebian =
    process.platform === 'linux' && process.getuid?.() === 0 && /\b(debian|ubuntu)\b/.test(await systemIds())
  const aptGet = isDebian ? await findProgram(['apt-get'], path) : undefined
  if (!aptGet) return { kind: 'notPossible' }
  // The program `env` sets the variable, because no code here may read the environment in order to extend it.
  const env = (await findProgram(['env'], path)) ?? '/usr/bin/env'
  const options = ['-o', `DPkg::Lock::Timeout=${lockSeconds}`, '-o', 'Acquire::Retries=2']
  const run = (...words: string[]) =>
    runProgram(env, ['DEBIAN_FRONTEND=noninteractive', aptGet, '-qq', ...options, ...words], installMsMax)

  log(`Installing ${name} (apt-get), without starting it as a service …`)
  const allowServices = await refuseServices()
  try {
    const packages = ['install', '--yes', '--no-install-recommends', name]
    let result = await run(...packages)
    // The usual reason of a failure is a missing or old list of packages.
    if (!result.ok && !signal?.aborted && (await run('update')).ok && !signal?.aborted) result = await run(...packages)
    return result.ok ? { kind: 'installed' } : { kind: 'failed', reason: result.output.split('\n').at(-1) ?? '' }
  } finally {
    await allowServices()
  }
}

/** Installs a policy that refuses to start services. Returns a function that restores the old policy. */
async function refuseServices(): Promise<() => Promise<void>> {
  const present = await readFile(policyFile, 'utf8').catch(() => '')
  const writer = Number(ourPolicy.exec(present)?.[1])
  // Another process of troupe is installing. It will restore the policy that was there before both processes.
  if (writer && isAlive(writer)) return async () => {}
  // A process of troupe was killed while it installed.
  if (writer) await restorePolicy()

  await rename(policyFile, keptPolicyFile).catch(() => {})
  const script = [
    '#!/bin/sh',
    `# Written by troupe, process ${process.pid}, while it installs a package.`,
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
