/**
 * Duty: what is installed in node_modules is what package-lock.json says, before any command of the repository runs.
 *
 * D1  Nothing is trusted but npm's own record of a finished installation (node_modules/.package-lock.json): an installation
 *     that was killed half-way has none and is repeated; what could not write all files is removed.
 * D2  One installation at a time: the others wait for it and then look again, also for an npm whose starter was killed.
 * D3  Nothing is written to stdout; stderr gets one line when something takes time, more while it goes on, and npm's own words only
 *     when npm fails.
 * D4  A signal that ends this process ends npm before, at once: what it would still write is not what the next installation expects.
 *
 * Plain JavaScript without dependencies, for Node 20 and later: it runs before anything is installed.
 */
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))
/** For people: without the slash at its end. */
export const rootName = resolve(root)
export const binaries = join(root, 'node_modules', '.bin')

const record = join(root, 'node_modules', '.package-lock.json')
const lockFolder = join(root, 'node_modules.lock')
const ownerFile = join(lockFolder, 'pid')
/** The npm that the owner runs. */
const npmFile = join(lockFolder, 'npm')
const pollMs = 100
/** npm only warns of files it cannot write, ends well, and leaves a record of all of them. */
const notWritten = /TAR_ENTRY_ERROR ((?:ENOSPC|EDQUOT|EIO)\b.*)/
/** npm says what is wrong first, and then explains its options. */
const outputLinesMax = 12
/** Between the creation of the lock and its owner's id in it there is a moment; a lock without owner is only then not stale. */
const ownerlessMsMax = 5_000
const noteEveryMs = 30_000
/** Who holds the lock touches it. The id in it may be that of another process by now, after a restart of a container above all. */
const renewEveryMs = 10_000
const untouchedMsMax = 60_000

/** Installs what is missing, and says every `noteMs` that it goes on. Throws an Error whose message is for people. */
export async function installDependencies(noteMs = noteEveryMs, renewMs = renewEveryMs, untouchedMs = untouchedMsMax) {
  if (isInstalled()) return
  const release = await acquireLock(renewMs, untouchedMs).catch((error) => {
    throw new Error(
      `The dependencies cannot be installed in ${rootName} (${error.message}): ${adviceOf(error.message)}.`,
    )
  })
  try {
    // Somebody else may have installed everything while we waited.
    if (!isInstalled()) await runNpmCi(noteMs)
  } finally {
    await release()
  }
  if (!isInstalled()) throw new Error('npm ci ended well, but node_modules does not match package-lock.json.')
}

/** True when npm's record of what it installed holds all that the lockfile asks for on this platform. */
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

/** Optional packages are mostly those of other platforms. The one of this platform that holds Node is needed. */
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
  // Install scripts are not needed by any dependency; development tools are, whatever NODE_ENV or the user's npm says.
  const args = ['ci', '--ignore-scripts', '--include=dev', '--include=optional', '--loglevel=warn']
  // Started by `npm run`, the same npm is used again; started by hand, the one on PATH.
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
    // All of it: `npm run` would start a Node that is torn before it comes to this file.
    await rm(join(root, 'node_modules'), { recursive: true, force: true })
    throw new Error(`npm ci could not write all files (${why}): ${adviceOf(why)}.`)
  }
  if (code === 0) return
  const words = output.split('\n').filter((line) => !line.startsWith('npm warn '))
  throw new Error(`npm ci failed with exit code ${code}:\n${words.slice(0, outputLinesMax).join('\n').trimEnd()}`)
}

/** A cache for this time, where the user's home can hold none: npm would fail, and where no folder can be made at all (/proc) stand still. */
async function ownCache() {
  if (process.platform === 'win32' || process.env.npm_config_cache) return {}
  try {
    await mkdir(join(homedir(), '.npm'))
  } catch (error) {
    if (error.code !== 'EEXIST') return { npm_config_cache: join(lockFolder, 'cache') }
  }
  return {}
}

/** Who is killed with SIGKILL leaves npm behind, at work: the lock is held for as long as that is. */
function noteNpm(pid) {
  try {
    writeFileSync(npmFile, String(pid))
  } catch {
    // On a full disk npm itself says what is wrong.
  }
}

/** What to do about an error that begins with its code. */
function adviceOf(why) {
  if (/^(EACCES|EPERM|EROFS)/.test(why)) return 'make that folder writable, or use a copy that is'
  return /^(ENOSPC|EDQUOT)/.test(why) ? 'make room, and try again' : 'see to it, and try again'
}

/** The exit code of npm. Ends this process as well where it was asked to end meanwhile. */
async function endOf(child, noteMs) {
  const startedAt = Date.now()
  const notes = setInterval(() => {
    const seconds = Math.round((Date.now() - startedAt) / 1_000)
    process.stderr.write(`npm is still at it after ${seconds} s …\n`)
  }, noteMs)
  let asked
  const pass = (signal) => {
    asked = signal
    // Asked to end, npm may first go on for a minute; what it leaves half-way has no record.
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

/** Takes the lock (a folder: creating one is atomic everywhere) and returns what gives it back. */
async function acquireLock(renewMs, untouchedMs) {
  const watch = new LockWatch(untouchedMs)
  for (let saidSo = false; !(await createLock()); ) {
    const lock = await readLock()
    const state = lock && watch.stateOf(lock)
    if (state === 'stale' && (await takeStaleLock(lock))) break
    if (state === 'stopped')
      process.stderr.write(`Process ${lock.pid}, which installs them, is stopped: let it go on (fg), or end it.\n`)
    if (!saidSo) process.stderr.write('Waiting for another installation of the dependencies …\n')
    saidSo = true
    await pause(pollMs)
  }
  const renew = async () => {
    if ((await readOwner()) === process.pid) await utimes(ownerFile, new Date(), new Date())
  }
  const renewals = setInterval(() => renew().catch(() => {}), renewMs)
  return async () => {
    clearInterval(renewals)
    await giveBackLock()
  }
}

/** Who stood still for too long may have lost the lock; that of its new owner is left alone. One without owner is looked at by others. */
async function giveBackLock() {
  const owner = await readOwner()
  if (owner > 0 && owner !== process.pid) return
  const grave = `${lockFolder}.${process.pid}`
  await rm(grave, { recursive: true, force: true })
  // At once: while a folder is emptied step by step somebody may put something in. Windows moves none in which a file is being read.
  const left = await rename(lockFolder, grave).then(
    () => grave,
    ({ code }) => (code === 'ENOENT' ? grave : lockFolder),
  )
  await rm(left, { recursive: true, force: true })
}

/** False where somebody else has the lock, or took it before our id was in it. */
async function createLock() {
  try {
    await mkdir(lockFolder)
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
  return writeOwner()
}

/** False where somebody else is in it, or it was given back. */
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
 * What one who waits has seen of the lock. A lock is stale when its owner is gone, and the npm of that, or when it stayed as it is for
 * too many looks: they are counted, as clocks go on while the machine sleeps, and with it the owner, or are set. An owner that is stopped,
 * as by Ctrl+Z, touches nothing and goes on later.
 */
class LockWatch {
  #untouchedMs
  #seen
  #looks = 0

  constructor(untouchedMs) {
    this.#untouchedMs = untouchedMs
  }

  /** Stopped is said once in a while. */
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
 * Takes the owner's id out of the lock, which one process alone can do, and puts its own in. What was taken out is looked at again: it may
 * be of who took the lock just now, and goes back. The folder stays where it is all the time, so nobody can make another meanwhile.
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

/** Undefined when it was given back meanwhile. */
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
