import { appendFile, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { hashLine } from '../../../agent/src/records/record-chain.ts'
import { createRecordDisk } from '../../../agent/src/records/record-disk.ts'
import { verifyRecords } from '../../../agent/src/records/verify-records.ts'
import { NOW_MS } from '../fixture/bundle.ts'
import { denial, readLines, startRecorder } from './record-scene.ts'

/** Three starts of an agent with five records each, each in a file of its own. */
async function recordThreeBoots(): Promise<string> {
  let directory: string | undefined
  for (const boot of ['boot-1', 'boot-2', 'boot-3']) {
    const scene = await startRecorder({ boot, ...(directory === undefined ? {} : { directory }) })
    for (let index = 0; index < 5; index += 1)
      scene.recorder.record(denial(`h${index}.${boot}.test`))
    await scene.recorder.stop()
    directory = scene.directory
  }
  return directory ?? ''
}

const verify = (directory: string, head?: string) =>
  verifyRecords(createRecordDisk(directory), head)

async function change(
  directory: string,
  file: string,
  edit: (lines: string[]) => readonly string[],
): Promise<void> {
  const path = join(directory, file)
  const lines = (await readFile(path, 'utf8')).split('\n').slice(0, -1)
  await writeFile(
    path,
    edit(lines)
      .map((line) => `${line}\n`)
      .join(''),
  )
}

describe('the chain of records', () => {
  it('goes on over files and starts of the agent', async () => {
    const directory = await recordThreeBoots()
    const lines = await readLines(directory)

    const result = await verify(directory)

    expect(result).toEqual({
      intact: true,
      lines: 15,
      files: 3,
      lost: 0,
      faults: [],
      head: hashLine(lines.at(-1) ?? ''),
    })
    const places = lines.map((line) => JSON.parse(line) as { seq: number; boot: string })
    expect(places.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5])
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ previous: '0'.repeat(64) })
  })

  it.each([
    ['emptied', (directory: string) => change(directory, '00000001.jsonl', () => [])],
    [
      'shortened',
      (directory: string) => change(directory, '00000001.jsonl', (all) => all.slice(1)),
    ],
    ['deleted', (directory: string) => rm(join(directory, '00000001.jsonl'))],
  ])('finds that the oldest file was %s', async (_what, damage) => {
    const directory = await recordThreeBoots()
    await damage(directory)

    const { intact, faults } = await verify(directory)
    expect(intact).toBe(false)
    expect(faults).toEqual([{ file: expect.any(String), line: 1, fault: 'missing_start' }])
  })

  it('holds without files that the agent deleted, and finds that others are missing', async () => {
    let nowMs = NOW_MS
    const limits = { maxSegmentBytes: 1_500, maxTotalBytes: 6_000 }
    const { recorder, directory } = await startRecorder({ limits, now: () => nowMs })
    for (let index = 0; index < 60; index += 1) {
      nowMs += 1_000
      recorder.record(denial(`h${index}.test`))
      await recorder.flush()
    }
    const names = (await readdir(directory)).filter((name) => name.endsWith('.jsonl')).toSorted()
    expect(names[0]).not.toBe('00000001.jsonl')
    expect(await verify(directory)).toMatchObject({ intact: true, faults: [] })

    await change(directory, names[0] ?? '', () => [])

    expect((await verify(directory)).faults).toMatchObject([{ fault: 'missing_start' }])
  })

  it('holds without files', async () => {
    const directory = await recordThreeBoots()

    await rm(directory, { recursive: true })
    expect(await verify(directory)).toMatchObject({ intact: true, lines: 0, head: null })
  })

  const swap = ([a = '', b = '', ...rest]: string[]) => [b, a, ...rest]
  it.each<[string, (lines: string[]) => readonly string[], string, number]>([
    ['changed', (lines) => lines.with(1, lines[1]?.replace('h1', 'h9') ?? ''), 'broken_chain', 3],
    ['changed by a space', (lines) => lines.with(1, `${lines[1]} `), 'broken_chain', 3],
    ['deleted', (lines) => lines.toSpliced(2, 1), 'broken_chain', 3],
    ['repeated', (lines) => lines.toSpliced(2, 0, lines[1] ?? ''), 'broken_chain', 3],
    ['exchanged', swap, 'broken_chain', 1],
    ['added', (lines) => lines.toSpliced(2, 0, '{"seq":3}'), 'malformed', 3],
    ['replaced by other text', (lines) => lines.with(2, 'not JSON'), 'malformed', 3],
  ])('finds a line that was %s', async (_what, edit, fault, line) => {
    const directory = await recordThreeBoots()

    await change(directory, '00000002.jsonl', edit)

    const { intact, faults } = await verify(directory)
    expect(intact).toBe(false)
    expect(faults[0]).toEqual({ file: '00000002.jsonl', line, fault })
  })

  it('finds the deletion of a file, and of the last line of a file', async () => {
    const directory = await recordThreeBoots()
    const expected = { file: '00000003.jsonl', line: 1, fault: 'broken_chain' }

    await change(directory, '00000002.jsonl', (lines) => lines.slice(0, -1))
    expect((await verify(directory)).faults).toEqual([expected])
    await rm(join(directory, '00000002.jsonl'))
    expect((await verify(directory)).faults).toEqual([expected])
  })

  it('finds lines that follow with a wrong number', async () => {
    const directory = await recordThreeBoots()
    const last = (await readLines(directory)).at(-1) ?? ''
    const forge = (seq: number, boot: string) =>
      JSON.stringify({ ...JSON.parse(last), seq, boot, previous: hashLine(last) })

    for (const [seq, boot] of [
      [5, 'boot-3'],
      [7, 'boot-3'],
      [2, 'boot-4'],
    ] as const) {
      await change(directory, '00000003.jsonl', (lines) => [...lines.slice(0, 5), forge(seq, boot)])
      expect((await verify(directory)).faults).toEqual([
        { file: '00000003.jsonl', line: 6, fault: 'wrong_sequence' },
      ])
    }
  })

  it('finds that the newest lines are missing, by the head of the agent that writes', async () => {
    const { recorder, writer, directory } = await startRecorder()
    for (const host of ['a.test', 'b.test']) recorder.record(denial(host))
    await recorder.flush()
    const head = writer.head() ?? ''
    expect(await verify(directory, head)).toMatchObject({ intact: true, head })

    await change(directory, '00000001.jsonl', (lines) => lines.slice(0, 1))

    expect(await verify(directory)).toMatchObject({ intact: true })
    expect((await verify(directory, head)).faults).toEqual([
      { file: '00000001.jsonl', line: 1, fault: 'wrong_head' },
    ])
  })

  it('reports at most a hundred faults', async () => {
    const directory = await recordThreeBoots()

    await appendFile(join(directory, '00000003.jsonl'), 'x\n'.repeat(500))

    const { faults, lines } = await verify(directory)
    expect(faults).toHaveLength(100)
    expect(lines).toBe(515)
  })
})
