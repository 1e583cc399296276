import {
  appendFile,
  chmod,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createRecordDisk, type RecordDisk } from '../../../agent/src/records/record-disk.ts'
import { verifyRecords } from '../../../agent/src/records/verify-records.ts'
import { NOW_MS } from '../fixture/bundle.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'
import { countEvents, denial, readRecords, startRecorder } from './record-scene.ts'

const recordFiles = async (directory: string) =>
  (await readdir(directory)).filter((name) => name.endsWith('.jsonl'))
const verify = (directory: string) => verifyRecords(createRecordDisk(directory))

async function sizes(directory: string): Promise<readonly number[]> {
  const names = (await recordFiles(directory)).toSorted()
  return Promise.all(names.map(async (name) => (await stat(join(directory, name))).size))
}

describe('files of records', () => {
  it('begin anew before they are too large, and the oldest are deleted', async () => {
    const limits = { maxSegmentBytes: 5_000, maxTotalBytes: 20_000 }
    const { recorder, directory } = await startRecorder({ limits })

    for (let index = 0; index < 300; index += 1) {
      recorder.record(denial(`h${index}.test`))
      await recorder.flush()
    }

    const found = await sizes(directory)
    expect(Math.max(...found)).toBeLessThanOrEqual(5_000)
    const total = found.reduce((sum, size) => sum + size, 0)
    expect(total).toBeLessThanOrEqual(20_000)
    expect(total).toBeGreaterThan(10_000)
    expect(recorder.status()).toMatchObject({ written: 300, lost: 0, bytes: total })
    expect(await verify(directory)).toMatchObject({ intact: true })
    const records = await readRecords(directory)
    expect(records.at(-1)).toMatchObject({ seq: 300 })
  })

  it('begin anew each day, and are deleted a week later', async () => {
    let nowMs = NOW_MS
    const { recorder, directory } = await startRecorder({ now: () => nowMs })
    const day = 86_400_000

    for (let index = 0; index < 10; index += 1) {
      recorder.record(denial(`day${index}.test`))
      await recorder.flush()
      for (const name of await recordFiles(directory)) {
        const number = Number.parseInt(name, 10) - 1
        const written = new Date(NOW_MS + number * (day + 1))
        await utimes(join(directory, name), written, written)
      }
      nowMs += day + 1
    }

    const names = (await recordFiles(directory)).toSorted()
    expect(names).toEqual(['05', '06', '07', '08', '09', '10'].map((n) => `000000${n}.jsonl`))
    expect(await verify(directory)).toMatchObject({ intact: true, lines: 6 })
  })

  it('are bounded in their number', async () => {
    const directory = join(await temporaryDirectory(), 'records')
    for (let boot = 0; boot < 8; boot += 1) {
      const limits = { maxSegments: 3 }
      const { recorder } = await startRecorder({ directory, boot: `boot-${boot}`, limits })
      recorder.record(denial('a.test'))
      await recorder.stop()
    }

    expect(await recordFiles(directory)).toHaveLength(3)
    expect(await verify(directory)).toMatchObject({ intact: true, lines: 3 })
  })

  it.each([
    ['a part of a line', (text: string) => `${text}{"seq":6,"boot":"bo`],
    ['half of its last line', (text: string) => text.slice(0, -100)],
    ['zeros', (text: string) => `${text}\0\0\0\0`],
  ])('that a crash left with %s are followed by a line that says so', async (_what, tear) => {
    const first = await startRecorder()
    for (let index = 0; index < 5; index += 1) first.recorder.record(denial(`h${index}.test`))
    await first.recorder.stop()
    const { directory } = first
    const file = join(directory, '00000001.jsonl')
    const torn = tear(await readFile(file, 'utf8'))
    await writeFile(file, torn)

    const { recorder } = await startRecorder({ directory, boot: 'boot-2' })
    recorder.record(denial('after.test'))
    await recorder.stop()

    expect(await readFile(file, 'utf8')).toBe(torn)
    const records = await readRecords(directory)
    expect(records.slice(-2)).toMatchObject([
      { boot: 'boot-2', seq: 1, lost: 1, reason: 'torn_line' },
      { boot: 'boot-2', seq: 2, count: 1 },
    ])
    expect(await verify(directory)).toMatchObject({ intact: true, lost: 1 })
  })

  it('that hold only a part of a line are followed from the line before', async () => {
    const first = await startRecorder()
    first.recorder.record(denial('a.test'))
    await first.recorder.stop()
    const { directory } = first
    await writeFile(join(directory, '00000002.jsonl'), '{"seq"')

    const { recorder } = await startRecorder({ directory, boot: 'boot-2' })
    recorder.record(denial('b.test'))
    await recorder.stop()

    expect(await verify(directory)).toMatchObject({ intact: true, lines: 3, lost: 1 })
  })

  it('go on in a new file after their deletion', async () => {
    const { recorder, directory } = await startRecorder()
    recorder.record(denial('a.test'))
    await recorder.flush()

    await rm(directory, { recursive: true })
    recorder.record(denial('b.test'))
    await recorder.flush()

    expect(await readRecords(directory)).toMatchObject([{ seq: 2, count: 1 }])
    expect(recorder.status()).toMatchObject({ written: 2, lost: 0 })
  })
})

describe('hostile files in the place of records', () => {
  const kinds: readonly [string, (path: string, directory: string) => Promise<unknown>][] = [
    ['a link to a file', (path) => symlink('/etc/passwd', path)],
    ['a dangling link', (path) => symlink('/nonexistent/file', path)],
    ['a directory', (path) => mkdir(path)],
    ['an endless line', (path) => writeFile(path, 'x'.repeat(2_000_000), { mode: 0o600 })],
    ['binary noise', (path) => writeFile(path, Buffer.alloc(70_000, 0xff), { mode: 0o600 })],
  ]

  it.each(kinds)('such as %s stop neither recorder nor reader', async (_what, make) => {
    const first = await startRecorder()
    first.recorder.record(denial('a.test'))
    await first.recorder.stop()
    const { directory } = first
    await make(join(directory, '00000002.jsonl'), directory)
    const linked = await readFile('/etc/passwd', 'utf8')

    const { recorder } = await startRecorder({ directory, boot: 'boot-2' })
    recorder.record(denial('b.test'))
    await recorder.stop()

    const { faults } = await verify(directory)
    expect(faults.filter(({ file }) => file !== '00000002.jsonl')).toEqual([])
    expect(recorder.status()).toMatchObject({ written: 1, error: null })
    const text = await readFile(join(directory, '00000003.jsonl'), 'utf8')
    expect(text).toContain('b.test')
    expect(await readFile('/etc/passwd', 'utf8')).toBe(linked)
  })

  it('keep their name: a file that appears meanwhile is not written to', async () => {
    const { recorder, directory } = await startRecorder({ limits: { maxSegmentBytes: 1 } })
    recorder.record(denial('a.test'))
    await recorder.flush()
    await symlink('/nonexistent/file', join(directory, '00000002.jsonl'))
    await writeFile(join(directory, '00000009.jsonl'), '')

    recorder.record(denial('b.test'))
    await recorder.flush()

    expect((await recordFiles(directory)).toSorted().at(-1)).toBe('00000010.jsonl')
  })

  it.each<[string, (directory: string) => Promise<unknown>]>([
    ['a file', (directory) => writeFile(directory, '')],
    ['a link', (directory) => symlink('/tmp', directory)],
  ])(
    'such as %s in place of their directory lose records, until it is gone',
    async (_what, make) => {
      const directory = join(await temporaryDirectory(), 'records')
      await make(directory)
      const { recorder, failures } = await startRecorder({ directory })

      recorder.record(denial('a.test'))
      await recorder.flush()

      expect(recorder.status()).toMatchObject({ written: 0, error: 'ERR_DATA_DIRECTORY' })
      expect(failures).toHaveLength(1)
      await rename(directory, `${directory}.away`)
      await expect
        .poll(() => recorder.status(), { timeout: 60_000 })
        .toMatchObject({
          written: 1,
          lost: 0,
          error: null,
        })
    },
  )

  it('close an open directory to other users', async () => {
    const directory = join(await temporaryDirectory(), 'records')
    await mkdir(directory)
    await chmod(directory, 0o777)
    const { recorder } = await startRecorder({ directory })

    recorder.record(denial('a.test'))
    await recorder.flush()

    expect((await stat(directory)).mode & 0o777).toBe(0o700)
  })
})

interface Trouble {
  /** Code of the failure of each write; null without one. */
  code: string | null
  /** Bytes that reach the file before the failure. */
  partial: number
  truncates: boolean
}

/** A disk whose writes fail as a test says. */
function failing(disk: RecordDisk, trouble: Trouble): RecordDisk {
  const fail = (code: string): never => {
    throw Object.assign(new Error(code), { code })
  }
  return {
    ...disk,
    async create(number) {
      const file = await disk.create(number)
      return {
        ...file,
        async append(text) {
          if (trouble.code === null) return file.append(text)
          if (trouble.partial > 0) await file.append(text.slice(0, trouble.partial))
          return fail(trouble.code)
        },
        truncate: async (bytes) => (trouble.truncates ? file.truncate(bytes) : fail('EIO')),
      }
    },
  }
}

describe('a disk that refuses records', () => {
  it.each([0, 50, 100_000])(
    'for a while loses none, also after it took %d bytes of them',
    async (partial) => {
      const trouble: Trouble = { code: 'ENOSPC', partial, truncates: true }
      const { recorder, directory, failures } = await startRecorder({
        disk: (disk) => failing(disk, trouble),
      })
      for (const host of ['a.test', 'b.test', 'a.test']) recorder.record(denial(host))
      await recorder.flush()
      expect(recorder.status()).toMatchObject({ written: 0, lost: 0, error: 'ENOSPC' })

      trouble.code = null
      await expect.poll(() => recorder.status().written, { timeout: 60_000 }).toBe(3)

      expect(failures).toHaveLength(1)
      expect(recorder.status()).toMatchObject({ lost: 0, error: null, last_loss: null })
      expect(countEvents(await readRecords(directory))).toBe(3)
      expect(await verify(directory)).toMatchObject({ intact: true, lost: 0 })
    },
  )

  it('for long loses records beyond the room in memory, and counts them later', async () => {
    const trouble: Trouble = { code: 'ENOSPC', partial: 0, truncates: true }
    let nowMs = NOW_MS
    const { recorder, directory } = await startRecorder({
      now: () => nowMs,
      disk: (disk) => failing(disk, trouble),
      limits: { maxTuples: 10 },
    })
    for (let minute = 0; minute < 20; minute += 1) {
      for (let index = 0; index < 5; index += 1) recorder.record(denial(`h${minute}-${index}.test`))
      await recorder.flush()
      nowMs += 60_000
    }
    const { lost, last_loss } = recorder.status()
    expect(lost).toBeGreaterThanOrEqual(60)
    expect(last_loss).toEqual({ at: '2026-11-21T12:19:00.000Z', reason: 'write_failed' })

    trouble.code = null
    await expect.poll(() => recorder.status().error, { timeout: 60_000 }).toBeNull()
    recorder.record(denial('after.test'))
    await recorder.stop()

    const records = await readRecords(directory)
    expect(countEvents(records)).toBe(101)
    expect(records.filter((line) => 'lost' in line)).toMatchObject([
      { lost, reason: 'write_failed' },
    ])
  })

  it('and leaves parts of lines behind is not written to again', async () => {
    const trouble: Trouble = { code: 'EIO', partial: 400, truncates: false }
    const { recorder, directory } = await startRecorder({
      disk: (disk) => failing(disk, trouble),
    })
    for (const host of ['a.test', 'b.test', 'c.test']) recorder.record(denial(host))
    await recorder.flush()
    expect(recorder.status()).toMatchObject({ written: 0, lost: 3, error: 'EIO' })

    trouble.code = null
    recorder.record(denial('after.test'))
    await expect.poll(() => recorder.status().written, { timeout: 60_000 }).toBe(1)

    expect(await verify(directory)).toMatchObject({ intact: true })
    const losses = (await readRecords(directory)).filter((line) => 'lost' in line)
    expect(losses).toContainEqual(expect.objectContaining({ lost: 3, reason: 'write_failed' }))
  })

  it('until the agent stops counts the records as lost', async () => {
    const trouble: Trouble = { code: 'ENOSPC', partial: 0, truncates: true }
    const { recorder, directory } = await startRecorder({
      disk: (disk) => failing(disk, trouble),
    })
    for (const host of ['a.test', 'b.test']) recorder.record(denial(host))

    await recorder.stop()
    recorder.record(denial('late.test'))

    expect(recorder.status()).toMatchObject({ written: 0, lost: 3 })
    expect(await readdir(directory)).toEqual([])
  })
})

describe('a disk that never answers', () => {
  it('delays no decision', async () => {
    const { recorder } = await startRecorder({
      disk: (disk) => ({ ...disk, prepare: () => new Promise(() => {}) }),
      limits: { maxTuples: 10 },
    })
    void recorder.flush()
    recorder.stop = async () => {}

    for (let index = 0; index < 1_000; index += 1) {
      recorder.record(denial(`h${index}.test`))
      if (index % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
    }

    expect(recorder.status()).toMatchObject({ written: 0 })
    expect(recorder.status().lost).toBeGreaterThanOrEqual(980)
  })
})

it('appends to the file of this start only', async () => {
  const first = await startRecorder()
  first.recorder.record(denial('a.test'))
  await first.recorder.stop()
  const file = join(first.directory, '00000001.jsonl')
  await appendFile(file, '')
  const before = await readFile(file, 'utf8')

  const { recorder } = await startRecorder({ directory: first.directory, boot: 'boot-2' })
  recorder.record(denial('b.test'))
  await recorder.stop()

  expect(await readFile(file, 'utf8')).toBe(before)
})
