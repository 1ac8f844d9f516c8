import { createHash } from 'node:crypto'
import { existsSync, linkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type FileMeasure, type Measured, measureFile } from '../../../workers/_survey/measure/measure.ts'
import { OpenFolder } from '../../../workers/_survey/tree/folder.ts'
import { fromText } from '../../../workers/_survey/tree/path.ts'
import { temporaryFolder, write } from '../support/folders.ts'

function measure(folder: string, name: string, textBytesMax = 0, checkpoint = () => {}): Measured {
  const top = OpenFolder.openTop(fromText(folder))
  try {
    return measureFile(top, fromText(name), { textBytesMax, checkpoint })
  } finally {
    top.close()
  }
}

function measureContent(content: string | Buffer, name = 'file'): FileMeasure {
  return measure(write(temporaryFolder(), { [name]: content }), name) as FileMeasure
}

const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('binary')

describe('a file', () => {
  test.each([1, 7, 262_143, 262_144, 262_145, 600_000])(
    'a file of %i bytes is read completely, in one pass',
    (length) => {
      const content = 'line of text\n'.repeat(Math.ceil(length / 13)).slice(0, length)
      expect(measureContent(content)).toMatchObject({
        bytes: length,
        lines: content.split('\n').length - 1,
        row: 'Other text',
        sha256: sha256(content),
        unreadable: null,
      })
    },
  )

  test('an empty file has no content and belongs to no language', () => {
    expect(measureContent('', 'a.ts')).toMatchObject({ bytes: 0, lines: 0, row: null, sha256: null, text: null })
  })

  test('a file with a hole is read completely', () => {
    const folder = write(temporaryFolder(), { file: 'a\n' })
    truncateSync(join(folder, 'file'), 1_000_000)
    const content = Buffer.concat([Buffer.from('a\n'), Buffer.alloc(999_998)])
    expect(measure(folder, 'file')).toMatchObject({
      bytes: 1_000_000,
      lines: 1,
      row: 'Binary',
      sha256: sha256(content),
    })
  })

  test.skipIf(!existsSync('/proc/self/fd'))('a file without any data is not read for hours', () => {
    const folder = write(temporaryFolder(), { a: '', b: '' })
    for (const name of ['a', 'b']) truncateSync(join(folder, name), 2 ** 40)
    let reads = 0
    const measured = ['a', 'b'].map((name) =>
      measure(folder, name, 0, () => {
        if (++reads > 100) throw new Error('it is read through')
      }),
    )
    expect(measured[0]).toMatchObject({ bytes: 2 ** 40, lines: 0, row: 'Binary', unreadable: null })
    expect(measured[1]).toEqual(measured[0])
  })

  test('a file comes with its text if the caller asks for it and it is not too long', () => {
    const folder = write(temporaryFolder(), { file: 'ü\n', empty: '' })
    expect(measure(folder, 'file', 3)).toMatchObject({ text: 'ü\n' })
    expect(measure(folder, 'file', 2)).toMatchObject({ text: null })
    expect(measure(folder, 'empty', 2)).toMatchObject({ text: '' })
    // As PowerShell writes it.
    writeFileSync(join(folder, 'little'), Buffer.from('\ufeffü\r\n', 'utf16le'))
    writeFileSync(join(folder, 'big'), Buffer.from('\ufeffü\r\n', 'utf16le').swap16())
    for (const name of ['little', 'big']) expect(measure(folder, name, 100)).toMatchObject({ text: 'ü\r\n' })
  })

  test('a file is recognised as having several hard links', () => {
    const folder = write(temporaryFolder(), { file: 'x' })
    linkSync(join(folder, 'file'), join(folder, 'other'))
    expect(measure(folder, 'other')).toMatchObject({ isHardLinked: true })
  })

  test('a file is not read further when the work must stop', () => {
    const folder = write(temporaryFolder(), { file: 'x'.repeat(1_000_000) })
    let calls = 0
    onTestFinished(() => expect(calls).toBe(2))
    const checkpoint = () => {
      if (++calls === 2) throw new Error('stopped')
    }
    expect(() => measure(folder, 'file', 0, checkpoint)).toThrow('stopped')
  })
})

describe.skipIf(!existsSync('/proc/self/status'))('a file of the kernel', () => {
  test('a file of the kernel has lines although its size is 0', () => {
    const measured = measure(`/proc/${process.pid}`, 'status') as FileMeasure
    expect(measured).toMatchObject({ bytes: 0, row: 'Other text', sha256: null, text: null, unreadable: null })
    expect(measured.lines).toBeGreaterThan(10)
  })

  test.skipIf(!existsSync('/proc/self/pagemap'))('a file of the kernel without an end is not read for ever', () => {
    expect(measure(`/proc/${process.pid}`, 'pagemap', 100)).toMatchObject({
      bytes: 0,
      sha256: null,
      text: null,
      unreadable: expect.stringMatching(/without an end|permission denied/),
    })
  })
})
