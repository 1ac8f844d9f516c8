/** The jail of a worker's tools. */
import { linkSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { InputError } from '../../../src/core/errors.ts'
import { openWorkspace } from '../../../src/runtime/tool/workspace.ts'

let top: string
let root: string
let secret: string

beforeAll(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'workspace-')))
  root = join(top, 'jail')
  secret = join(top, 'outside', 'secret.txt')
  mkdirSync(join(root, 'sub', 'deep'), { recursive: true })
  mkdirSync(join(top, 'outside'))
  mkdirSync(join(top, 'jail-too'))
  writeFileSync(secret, 'the secret')
  writeFileSync(join(top, 'jail-too', 'file.txt'), 'a neighbour')
  writeFileSync(join(root, 'file.txt'), 'inside')
  writeFileSync(join(root, 'sub', 'a b.txt'), 'inside')
  writeFileSync(join(root, '..name'), 'inside')
  const links: [name: string, target: string][] = [
    ['good', 'sub/a b.txt'],
    ['good-folder', 'sub'],
    ['good-absolute', join(root, 'file.txt')],
    ['good-round', '../jail/file.txt'],
    ['out', '../outside/secret.txt'],
    ['out-absolute', secret],
    ['out-folder', '../outside'],
    ['out-neighbour', '../jail-too'],
    ['up', '..'],
    ['top', '/'],
    ['chain', 'chain-2'],
    ['chain-2', 'sub/chain-3'],
    ['sub/chain-3', '../out-folder/secret.txt'],
    ['dangling', '../outside/none.txt'],
    ['dangling-inside', 'none.txt'],
    ['loop', 'loop-2'],
    ['loop-2', 'loop'],
    ['process', '/proc/self/root'],
  ]
  for (const [name, target] of links) symlinkSync(target, join(root, name))
  symlinkSync('jail', join(top, 'jail-link'))
})
afterAll(() => rmSync(top, { recursive: true }))

/** resolve refuses each of these, with an error that says nothing about what is outside. */
const escapes = (): string[] => [
  '..',
  '../',
  '../outside/secret.txt',
  'sub/../../outside/secret.txt',
  './../outside/secret.txt',
  'sub/..',
  'sub/deep/../../../outside/secret.txt',
  '/',
  '/etc/passwd',
  '//etc/passwd',
  secret,
  top,
  `${root}-too`,
  `${root}-too/file.txt`,
  `${root}/../outside/secret.txt`,
  '../jail-too/file.txt',
  'out',
  'out-absolute',
  'out-folder',
  'out-folder/',
  'out-folder/secret.txt',
  'out-folder/none.txt',
  './out-folder/./secret.txt',
  'sub/chain-3',
  'chain',
  'chain-2',
  'out-neighbour/file.txt',
  'up',
  'up/outside/secret.txt',
  'up/jail/up/outside/secret.txt',
  'top',
  'top/etc/passwd',
  `top${secret}`,
  'process/etc/passwd',
  'dangling',
  'loop',
  'file.txt\0',
  'file.txt\0/../../outside/secret.txt',
  '\0',
  `${root}\0`,
]

test('paths that lead outside are refused, and the error repeats only the path (WORKSPACE-2)', async () => {
  const workspace = await openWorkspace(root)
  expect(escapes().length).toBeGreaterThanOrEqual(20)
  for (const path of escapes()) {
    const error: unknown = await workspace.resolve(path).then(
      (real) => new Error(`${JSON.stringify(path)} gave ${real}`),
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(InputError)
    const { message } = error as InputError
    expect(message).toContain(JSON.stringify(path))
    expect(message.replace(JSON.stringify(path), '')).not.toContain('outside/')
    expect(message).not.toContain('the secret')
  }
})

test('nothing can be created outside the folder or through a link', async () => {
  const workspace = await openWorkspace(root)
  const paths = [
    ...escapes().map((path) => (path === '' ? path : `${path}/new.txt`)),
    '../new.txt',
    '/tmp/new.txt',
    'out',
    'dangling',
    'dangling-inside',
    'good',
    'loop',
    'new\0.txt',
    'none/new.txt',
    'file.txt/new.txt',
    '.',
    '',
    './',
    root,
    '..',
  ]
  const allowed: string[] = []
  for (const path of paths) {
    const error: unknown = await workspace.resolveNew(path).catch((thrown: unknown) => thrown)
    if (!(error instanceof InputError)) allowed.push(path)
  }
  expect(allowed).toEqual([])
})

test('a refusal says what is wrong with the path', async () => {
  const workspace = await openWorkspace(root)
  await expect(workspace.resolve('a\0b')).rejects.toThrow('"a\\u0000b" holds a NUL character')
  await expect(workspace.resolve('sub/../file.txt')).rejects.toThrow('"sub/../file.txt" holds ".."')
  await expect(workspace.resolve('/etc/passwd')).rejects.toThrow(`"/etc/passwd" is outside of the worker's folder`)
  await expect(workspace.resolve('out')).rejects.toThrow(`"out" leads out of the worker's folder`)
  await expect(workspace.resolveNew('.')).rejects.toThrow(`"." is the worker's folder itself`)
  await expect(workspace.resolveNew('none/new.txt')).rejects.toThrow(
    '"none/new.txt" names a folder that does not exist',
  )
  await expect(workspace.resolveNew('file.txt/new.txt')).rejects.toThrow(
    '"file.txt/new.txt" names a folder that does not exist',
  )
  await expect(workspace.resolveNew('good')).rejects.toThrow('"good" is a link')
})

test('no error reveals whether something exists outside (WORKSPACE-2)', async () => {
  const workspace = await openWorkspace(root)
  const messageOf = async (path: string) => {
    const error = await workspace.resolve(path).catch((thrown: InputError) => thrown)
    return String(error).replaceAll(JSON.stringify(path), 'it')
  }
  expect(await messageOf('out-folder/none.txt')).toBe(await messageOf('out-folder/secret.txt'))
  expect(await messageOf('out-folder/none/none.txt')).toBe(await messageOf('out-folder/secret.txt'))
  expect(await messageOf('out-folder/secret.txt/none')).toBe(await messageOf('out-folder/secret.txt'))
  expect(await messageOf(join(top, 'outside', 'none.txt'))).toBe(await messageOf(secret))
  expect(await messageOf('dangling')).toBe(await messageOf('out'))
})

test('a path inside resolves to its real path (WORKSPACE-1)', async () => {
  const workspace = await openWorkspace(root)
  const cases: [path: string, place: string][] = [
    ['', ''],
    ['.', ''],
    ['file.txt', 'file.txt'],
    ['./sub/./a b.txt', 'sub/a b.txt'],
    ['sub//deep/', 'sub/deep'],
    ['..name', '..name'],
    [root, ''],
    [join(root, 'file.txt'), 'file.txt'],
    ['good', 'sub/a b.txt'],
    ['good-folder/a b.txt', 'sub/a b.txt'],
    ['good-absolute', 'file.txt'],
    ['good-round', 'file.txt'],
    ['up/jail/file.txt', 'file.txt'],
  ]
  const found = await Promise.all(cases.map(([path]) => workspace.resolve(path)))
  expect(found).toEqual(cases.map(([_path, place]) => join(root, place)))
  await expect(workspace.resolve('none.txt')).rejects.toThrow(`"none.txt" does not exist in the worker's folder.`)
  await expect(workspace.resolve('file.txt/x')).rejects.toThrow(InputError)
})

test('the path of a file that may be created is its real path', async () => {
  const workspace = await openWorkspace(root)
  expect(await workspace.resolveNew('new.txt')).toBe(join(root, 'new.txt'))
  expect(await workspace.resolveNew('good-folder/new.txt')).toBe(join(root, 'sub', 'new.txt'))
  expect(await workspace.resolveNew(join(root, 'sub/new.txt'))).toBe(join(root, 'sub', 'new.txt'))
  // Writing it anew is creating it.
  expect(await workspace.resolveNew('file.txt')).toBe(join(root, 'file.txt'))
})

test('a workspace folder that is a link is resolved when it is opened', async () => {
  const linked = join(top, 'jail-link')
  const workspace = await openWorkspace(linked)
  expect(workspace.root).toBe(root)
  expect(await workspace.resolve(join(linked, 'file.txt'))).toBe(join(root, 'file.txt'))
  expect(await workspace.resolve(join(root, 'file.txt'))).toBe(join(root, 'file.txt'))
  expect(await workspace.resolveNew(join(linked, 'new.txt'))).toBe(join(root, 'new.txt'))
  await expect(workspace.resolve(`${linked}-too`)).rejects.toThrow(InputError)
  rmSync(linked)
  symlinkSync('outside', linked)
  expect(workspace.root).toBe(root)
  await expect(workspace.resolve(join(linked, 'secret.txt'))).rejects.toThrow(InputError)
  // The name of the workspace stands for the folder that it named when the workspace was opened.
  expect(await workspace.resolve(join(linked, 'file.txt'))).toBe(join(root, 'file.txt'))
  rmSync(linked)
  symlinkSync('jail', linked)
})

test('a path that is not a folder cannot be opened as a workspace', async () => {
  for (const folder of [join(root, 'file.txt'), join(root, 'none'), 'a\0b']) {
    await expect(openWorkspace(folder)).rejects.toThrow(InputError)
    await expect(openWorkspace(folder)).rejects.toThrow(JSON.stringify(folder))
  }
})

test('a workspace at the root of the file system has every path inside', async () => {
  const workspace = await openWorkspace('/')
  expect(await workspace.resolve(secret)).toBe(secret)
  expect(await workspace.resolve(relative('/', secret))).toBe(secret)
})

test('a path that is not a text is refused', async () => {
  const workspace = await openWorkspace(root)
  for (const path of [null, 1, Buffer.from('out'), new URL('file:///etc/passwd'), ['..']]) {
    await expect(workspace.resolve(path as unknown as string)).rejects.toThrow(InputError)
    await expect(workspace.resolveNew(path as unknown as string)).rejects.toThrow(InputError)
  }
})

test('a path that is too long for any system is refused without reading the disk', async () => {
  const workspace = await openWorkspace(root)
  const path = 'no/'.repeat(100_000)
  for (const asked of [workspace.resolve(path), workspace.resolveNew(path), workspace.resolve(`${root}/${path}`)]) {
    await expect(asked).rejects.toThrow(/^"[^"]{190,210}" is too long: a path has at most 4096 characters\.$/)
  }
  await expect(workspace.resolve('no/'.repeat(1_365))).rejects.toThrow(/does not exist|ENAMETOOLONG/)
})

test('no combination of these path parts leads outside', async () => {
  const workspace = await openWorkspace(root)
  const names = [
    '..',
    '.',
    '',
    'sub',
    'deep',
    'up',
    'jail',
    'outside',
    'secret.txt',
    'out-folder',
    'good-folder',
    'top',
    'chain',
    '\0',
  ]
  const path = fc.tuple(
    fc.constantFrom('', '/', `${root}/`, `${top}/`),
    fc.array(fc.constantFrom(...names), { maxLength: 7 }),
  )
  await fc.assert(
    fc.asyncProperty(path, async ([start, parts]) => {
      const asked = start + parts.join('/')
      for (const real of await Promise.allSettled([workspace.resolve(asked), workspace.resolveNew(asked)])) {
        const isSafe =
          real.status === 'rejected' ? real.reason instanceof InputError : `${real.value}/`.startsWith(`${root}/`)
        expect(isSafe).toBe(true)
      }
    }),
    { numRuns: 2_000 },
  )
})

test('a hard link counts as the file itself', async () => {
  linkSync(join(root, 'file.txt'), join(root, 'sub', 'second.txt'))
  const workspace = await openWorkspace(root)
  expect(await workspace.resolve('sub/second.txt')).toBe(join(root, 'sub', 'second.txt'))
})

test('a workspace may have to lie within folders, and by its real path', async () => {
  expect((await openWorkspace(join(root, 'sub'), [join(top, 'jail-link')])).root).toBe(join(root, 'sub'))
  for (const folder of [join(top, 'outside'), join(top, 'jail-too'), join(root, 'out-folder')])
    await expect(openWorkspace(folder, [root])).rejects.toThrow(/leads out of the folder that its permissions name/)
})

test('folders of the system are no workspace, and no part of one', async () => {
  for (const folder of ['/proc', '/proc/self', '/sys'])
    await expect(openWorkspace(folder)).rejects.toThrow(/belongs to the system/)
  const workspace = await openWorkspace('/')
  for (const path of ['proc/self/environ', '/dev/null'])
    await expect(workspace.resolve(path)).rejects.toThrow(/belongs to the system/)
})
