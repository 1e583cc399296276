import { execFileSync } from 'node:child_process'
import { readFile, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createRecordDisk } from '../../../agent/src/records/record-disk.ts'
import { verifyRecords } from '../../../agent/src/records/verify-records.ts'
import { canFillDisks, fillDisk, mountSmallDisk } from '../fixture/small-disk.ts'
import { denial, startRecorder } from './record-scene.ts'

const verify = (directory: string) => verifyRecords(createRecordDisk(directory))

describe('a FIFO in the place of records', () => {
  it('stops neither recorder nor reader', async () => {
    const first = await startRecorder()
    first.recorder.record(denial('a.test'))
    await first.recorder.stop()
    const { directory } = first
    execFileSync('mkfifo', [join(directory, '00000002.jsonl')])

    const { recorder } = await startRecorder({ directory, boot: 'boot-2' })
    recorder.record(denial('b.test'))
    await recorder.stop()

    const { faults } = await verify(directory)
    expect(faults.filter(({ file }) => file !== '00000002.jsonl')).toEqual([])
    expect(recorder.status()).toMatchObject({ written: 1, error: null })
    const text = await readFile(join(directory, '00000003.jsonl'), 'utf8')
    expect(text).toContain('b.test')
  })
})

describe('a disk that refuses records', () => {
  it.skipIf(!canFillDisks())('because it is full takes them once it has room', async () => {
    const disk = mountSmallDisk()
    const directory = join(disk, 'records')
    const { recorder } = await startRecorder({ directory })
    recorder.record(denial('first.test'))
    await recorder.flush()
    fillDisk(join(disk, 'ballast'), 0)

    for (let index = 0; index < 50; index += 1) recorder.record(denial(`h${index}.test`))
    await recorder.flush()
    expect(recorder.status()).toMatchObject({ written: 1, error: 'ENOSPC' })
    await truncate(join(disk, 'ballast'), 0)

    await expect.poll(() => recorder.status().written, { timeout: 60_000 }).toBe(51)
    expect(await verify(directory)).toMatchObject({ intact: true, lines: 51 })
  })
})
