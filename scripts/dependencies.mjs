/**
 * Duty: install in node_modules exactly what package-lock.json lists, before any command of the repository runs.
 *
 * DEPENDENCIES-1 Only npm's own record of a finished installation is trusted (node_modules/.package-lock.json). An installation that was killed has
 *                no record and is repeated. An installation that could not write all files is removed.
 * DEPENDENCIES-2 Only one installation runs at a time. The others wait for it and then check again, even if the process that started npm was killed.
 * DEPENDENCIES-3 Nothing is written to stdout. stderr gets one line when something takes time, further lines while it goes on, and npm's own output
 *                only if npm fails.
 * DEPENDENCIES-4 A signal that ends this process ends npm first, at once: files that npm would still write would disturb the next installation.
 *
 * Plain JavaScript without dependencies, for Node 20 and later, because it runs before anything is installed.
 */
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))
/** The path for people, without the slash at its end. */
export const rootName = resolve(root)
export const binaries = join(root, 'node_modules', '.bin')

const record = join(root, 'node_modules', '.package-lock.json')
const lockFolder = join(root, 'node_modules.lock')
const ownerFile = join(lockFolder, 'pid')
/** Holds the process id of the npm that the owner of the lock runs. */
const npmFile = join(lockFolder, 'npm')
const pollMs = 100
/** npm only prints a warning for a file that it cannot write. It still succeeds and records the file as written. */
const notWritten = /TAR_ENTRY_ERROR ((?:ENOSPC|EDQUOT|EIO)\b.*)/
/** How many lines of npm's output are quoted. npm names the error first and then explains its options. */
const outputLinesMax = 12
/** How long a lock may have no owner: a moment passes between its creation and the writing of the owner's id. */
const ownerlessMsMax = 5_000
const noteEveryMs = 30_000
/** How often the owner touches its lock. The id alone is not enough, because another process may have it by now, for example after a restart of a container. */
const renewEveryMs = 10_000
const untouchedMsMax = 60_000

/** Installs missing packages, and reports every `noteMs` that it is still running. Throws an Error with a message for people. */
export async function installDependencies(noteMs = noteEveryMs, renewMs = renewEveryMs, untouchedMs = untouchedMsMax) {
  if (isInstalled()) return
  const release = await acquireLock(renewMs, untouchedMs).catch((error) => {
    throw new Error(
      `The dependencies cannot be installed in ${rootName} (${error.message}): ${adviceOf(error.message)}.`,
    )
  })
  try {
    // Another process may have installed everything while this one waited.
    if (!isInstalled()) await runNpmCi(noteMs)
  } finally {
    await release()
  }
  if (!isInstalled())
    throw new Error('npm ci succeeded, but node_modules does not match package-lock.json: run the command again.')
}

/** True if npm's record of its installation holds all packages that the lockfile lists for this platform. */
function isInstalled() {
  const wanted = readPackages(join(root, 'package-lock.json'))
  const installed = readPackages(record)
  if (!wanted || !installed) return false
  return Object.entries(wanted).every(([path, entry]) => {
    if (!path.startsWith('node_modules/')) return true
    const found = installed[path]
    if (!found) return isDispensable(entry)
    return found.version === entry.version && (!entry.integrity || found.integrity === entry.integrity)
  })
}

/** Optional packages are mostly for other platforms. The package with Node for this platform is needed. */
function isDispensable({ optional, devOptional, bin, os, cpu }) {
  const isOurNode = bin?.node && [os].flat().includes(process.platform) && [cpu].flat().includes(process.arch)
  return !isOurNode && (optional === true || devOptional === true)
}

function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages
  } catch {
    return undefined
  }
}

async function runNpmCi(noteMs) {
  process.stderr.write('Installing dependencies (npm ci) …\n')
  // No dependency needs its install scripts. Development tools are needed, whatever NODE_ENV or the user's npm configuration says.
  const args = ['ci', '--ignore-scripts', '--include=dev', '--include=optional', '--loglevel=warn']
  // Under `npm run`, the same npm is used again; otherwise the npm on PATH.
  const npm = /npm-cli\.[cm]?js$/.test(process.env.npm_execpath ?? '') ? process.env.npm_execpath : undefined
  const env = { ...process.env, ...(await ownCache()) }
  const child = npm
    ? spawn(process.execPath, [npm, ...args], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
    : spawn('npm', args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'], shell: process.platform === 'win32' })
  noteNpm(child.pid)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  const code = await endOf(child, noteMs)
  const [, why] = notWritten.exec(output) ?? []
  if (why) {
    // Removes all of it: with a damaged Node in it, `npm run` could not even start this file.
    await rm(join(root, 'node_modules'), { recursive: true, force: true })
    throw new Error(`npm ci could not write all files (${why}): ${adviceOf(why)}.`)
  }
  if (code === 0) return
  const words = output.split('\n').filter((line) => !line.startsWith('npm warn '))
  throw new Error(`npm ci failed with exit code ${code}:\n${words.slice(0, outputLinesMax).join('\n').trimEnd()}`)
}

/** A temporary cache, if the user's home cannot hold one: npm would fail, or hang where no folder can be created (/proc). */
async function ownCache() {
  if (process.platform === 'win32' || process.env.npm_config_cache) return {}
  try {
    await mkdir(join(homedir(), '.npm'))
  } catch (error) {
    if (error.code !== 'EEXIST') return { npm_config_cache: join(lockFolder, 'cache') }
  }
  return {}
}

/** Notes the process id of npm. If this process is killed with SIGKILL, npm works on, and the lock counts as held as long as npm runs. */
function noteNpm(pid) {
  try {
    writeFileSync(npmFile, String(pid))
  } catch {
    // On a full disk npm itself reports the error.
  }
}

/** Advice for an error message that begins with the code of the error. */
function adviceOf(why) {
  if (/^(EACCES|EPERM|EROFS)/.test(why)) return 'make that folder writable, or use a copy in a writable folder'
  return /^(ENOSPC|EDQUOT)/.test(why) ? 'free some disk space and try again' : 'solve this and try again'
}

/** Waits for npm and returns its exit code. If this process got a signal in the meantime, it ends too. */
async function endOf(child, noteMs) {
  const startedAt = Date.now()
  const notes = setInterval(() => {
    const seconds = Math.round((Date.now() - startedAt) / 1_000)
    process.stderr.write(`npm is still running after ${seconds} s …\n`)
  }, noteMs)
  let asked
  const pass = (signal) => {
    asked = signal
    // After SIGTERM, npm may work on for a minute. What a killed npm leaves behind has no record.
    child.kill('SIGKILL')
  }
  for (const signal of endingSignals) process.on(signal, pass)
  try {
    return await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
  } finally {
    clearInterval(notes)
    for (const signal of endingSignals) process.off(signal, pass)
    if (asked) process.kill(process.pid, asked)
  }
}

const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** Takes the lock and returns a function that releases it. The lock is a folder, because creating a folder is atomic on every system. */
async function acquireLock(renewMs, untouchedMs) {
  const watch = new LockWatch(untouchedMs)
  for (let saidSo = false; !(await createLock()); ) {
    const lock = await readLock()
    const state = lock && watch.stateOf(lock)
    if (state === 'stale' && (await takeStaleLock(lock))) break
    if (state === 'stopped')
      process.stderr.write(
        `Process ${lock.pid}, which installs the dependencies, is stopped: continue it (fg) or end it.\n`,
      )
    if (!saidSo) process.stderr.write('Waiting for another installation of the dependencies …\n')
    saidSo = true
    await pause(pollMs)
  }
  const renew = async () => {
    if ((await readOwner()) === process.pid) await utimes(ownerFile, new Date(), new Date())
  }
  const renewals = setInterval(() => void renew().catch(() => {}), renewMs)
  return async () => {
    clearInterval(renewals)
    await releaseLock()
  }
}

/**
 * Releases the lock. A process that was suspended for too long may have lost the lock; the lock of the new owner stays. A lock without an owner is
 * removed.
 */
async function releaseLock() {
  const owner = await readOwner()
  if (owner > 0 && owner !== process.pid) return
  const grave = `${lockFolder}.${process.pid}`
  await rm(grave, { recursive: true, force: true })
  // Renamed first, because another process could write into a folder that is being emptied. Windows cannot rename a folder with an open file.
  const left = await rename(lockFolder, grave).then(
    () => grave,
    ({ code }) => (code === 'ENOENT' ? grave : lockFolder),
  )
  await rm(left, { recursive: true, force: true })
}

/** Creates the lock. False if another process has it, or took it before our id was written. */
async function createLock() {
  try {
    await mkdir(lockFolder)
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
  return writeOwner()
}

/** Writes our id into the lock. False if another id is in it, or if the lock was released. */
async function writeOwner() {
  try {
    await writeFile(ownerFile, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code === 'EEXIST' || error.code === 'ENOENT') return false
    await rm(lockFolder, { recursive: true, force: true })
    throw error
  }
}

/**
 * The observations of a waiting process about the lock. A lock is stale if its owner and the owner's npm are gone, or if it did not change for a
 * number of observations. Observations are counted, and time is not measured, because the clock goes on while the machine, and with it the owner,
 * sleeps, or may be set. An owner that is suspended, for example by Ctrl+Z, touches nothing and continues later.
 */
class LockWatch {
  #untouchedMs
  #seen
  #looks = 0

  constructor(untouchedMs) {
    this.#untouchedMs = untouchedMs
  }

  /** `stopped` is returned only once in a while. */
  stateOf(lock) {
    this.#looks = isSameLock(this.#seen, lock) ? this.#looks + 1 : 0
    this.#seen = lock
    if (lock.pid > 0 && !isAlive(lock.pid) && !(lock.npm > 0 && isAlive(lock.npm))) return 'stale'
    if (this.#looks * pollMs < (lock.pid > 0 ? this.#untouchedMs : ownerlessMsMax)) return 'held'
    if (!isStopped(lock.pid)) return 'stale'
    this.#looks = 0
    return 'stopped'
  }
}

/**
 * Moves the owner's id out of the lock, which only one process can do, and writes its own id. The moved id is checked again: if it belongs to a
 * process that took the lock a moment ago, it is moved back. The folder itself stays, so that nobody can create another one in between.
 */
async function takeStaleLock(stale) {
  if (stale.pid === 0) return writeOwner()
  const aside = `${ownerFile}.${process.pid}`
  try {
    await rename(ownerFile, aside)
  } catch {
    return false
  }
  if (isSameLock(await readLock(aside), stale)) {
    await rm(npmFile, { force: true })
    return writeOwner()
  }
  await rename(aside, ownerFile).catch(() => {})
  return false
}

function isSameLock(one, other) {
  return one?.pid === other?.pid && one?.touchedAt === other?.touchedAt
}

/** Undefined if the lock was released in the meantime. */
async function readLock(file = ownerFile) {
  const [pid, npm] = await Promise.all([readOwner(file), readId(npmFile)])
  const found = await stat(pid > 0 ? file : lockFolder).catch(() => undefined)
  return found && { pid, npm, touchedAt: found.mtimeMs }
}

function readOwner(file = ownerFile) {
  return readId(file)
}

async function readId(file) {
  return Number(await readFile(file, 'utf8').catch(() => '0')) || 0
}

function isStopped(pid) {
  if (pid <= 0) return false
  try {
    const state =
      process.platform === 'linux'
        ? readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')
        : spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim()
    return state.startsWith('T')
  } catch {
    return false
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}
