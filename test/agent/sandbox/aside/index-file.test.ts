import { runSteps } from '@palisade/policy-core'
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { readIndex } from '../../../../agent/src/sandbox/aside/index-file.ts'
import type { HashBytes } from '../../../../agent/src/sandbox/aside/index-tail.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'

let path: string
beforeEach(async () => {
  path = join(await temporaryDirectory(), 'index')
})

const SUBMODULE = 0o160000
const FILE = 0o100644

interface EntryParts {
  readonly mode?: number
  readonly name?: string
  /** Length of the name as the flags tell it. */
  readonly length?: number
  /** Bytes of the former name that version 4 removes. */
  readonly removed?: number
}

function entry(version: number, { mode = FILE, name = 'a', length, removed = 0 }: EntryParts) {
  const head = Buffer.alloc(62)
  head.writeUInt32BE(mode, 24)
  head.writeUInt16BE(length ?? Math.min(name.length, 0xfff), 60)
  if (version === 4)
    return Buffer.concat([head, Buffer.from([removed]), Buffer.from(name, 'latin1'), Buffer.of(0)])
  const bytes = Buffer.concat([head, Buffer.from(name, 'latin1')])
  return Buffer.concat([bytes, Buffer.alloc(8 - (bytes.length % 8))])
}

function extension(name: string, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from(name), numbers(content.length), content])
}

function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length)
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value, 4 * at)
  return bytes
}

function write(version: number, count: number, ...parts: readonly Buffer[]): void {
  const header = Buffer.concat([Buffer.from('DIRC'), numbers(version, count)])
  writeFileSync(path, Buffer.concat([header, ...parts, Buffer.alloc(20)]))
}

function read(hash: HashBytes = 20) {
  const names: string[] = []
  const found = runSteps(readIndex(path, hash, ({ name }) => names.push(name.toString('latin1'))))
  return { ...found, names }
}

const DAMAGED = 'is damaged, or in a form that git does not write'

describe('an index', () => {
  it('names its submodules and trees', () => {
    write(
      4,
      4,
      entry(4, { name: 'a/b' }),
      entry(4, { name: 'sub', length: 5, removed: 1, mode: SUBMODULE }),
      entry(4, { name: 't/', length: 4, removed: 3, mode: 0o040000 }),
      entry(4, { name: 'z', removed: 4, mode: SUBMODULE | 0o755 }),
      extension('TREE', Buffer.alloc(9)),
    )

    expect(read()).toEqual({ problem: null, shared: null, names: ['a/sub', 'a/t/', 'z'] })
  })

  it('names its shared index', () => {
    write(2, 0, extension('link', Buffer.alloc(30, 0xab)))

    expect(read()).toEqual({ problem: null, shared: 'ab'.repeat(20), names: [] })
  })

  it('that is missing has no names', () => {
    expect(read()).toEqual({ problem: null, shared: null, names: [] })
  })

  it.each([
    ['a link', () => symlinkSync('elsewhere', path), 'is a link'],
    ['a directory', () => mkdirSync(path), 'is no regular file'],
    ['empty', () => writeFileSync(path, ''), DAMAGED],
    ['huge', () => (writeFileSync(path, ''), truncateSync(path, 2 ** 31)), 'is larger than 1 GiB'],
    ['of another version', () => write(5, 0), DAMAGED],
    ['too short', () => write(2, 2, entry(2, {})), DAMAGED],
    [
      'with a name of a wrong length',
      () => write(2, 1, entry(2, { name: 'ab', length: 1 })),
      DAMAGED,
    ],
    ['with a long name', () => write(2, 1, entry(2, { name: 'a'.repeat(5000) })), DAMAGED],
    ['with a name that removes too much', () => write(4, 1, entry(4, { removed: 1 })), DAMAGED],
    ['with bytes after its end', () => write(2, 0, Buffer.alloc(5)), DAMAGED],
    [
      'with many extensions',
      () => write(2, 0, ...Array.from({ length: 65 }, () => extension('TREE', Buffer.alloc(0)))),
      DAMAGED,
    ],
  ] as const)('is not told when it is %s', (_, make, problem) => {
    make()

    expect(read()).toMatchObject({ problem })
  })

  it.each([
    ['at another end of the entries', [entry(2, {})], 100, null],
    ['at blocks elsewhere', [entry(2, {}), entry(2, { name: 'b' })], 140, [1, 12, 1, 92, 1]],
    ['at more blocks', [entry(2, {})], 76, [1, 12, 1, 76, 1]],
    ['at longer blocks', [entry(2, {})], 76, [1, 12, 2]],
  ] as const)('is not told when git reads it %s', (_, entries, end, blocks) => {
    const table = blocks === null ? [] : [extension('IEOT', numbers(...blocks))]
    const last = extension('EOIE', Buffer.concat([numbers(end), Buffer.alloc(20)]))
    write(2, entries.length, ...entries, ...table, last)

    expect(read()).toMatchObject({ problem: DAMAGED })
  })

  it('is read by blocks and their end as git writes them', () => {
    const last = extension('EOIE', Buffer.concat([numbers(140), Buffer.alloc(20)]))
    const table = extension('IEOT', numbers(1, 12, 1, 76, 1))
    write(2, 2, entry(2, {}), entry(2, { name: 'b', mode: SUBMODULE }), table, last)

    expect(read()).toEqual({ problem: null, shared: null, names: ['b'] })
  })

  it('of 300,000 entries with long common names is read in small steps', () => {
    const first = entry(4, { name: 'a'.repeat(4000), length: 4000 })
    const next = entry(4, { name: 'b', length: 4000, removed: 1, mode: SUBMODULE })
    write(4, 300_000, first, Buffer.concat(Array.from({ length: 299_999 }, () => next)))

    const durations: number[] = []
    let count = 0
    const steps = readIndex(path, 20, () => (count += 1))
    for (let begunMs = performance.now(); steps.next().done !== true; begunMs = performance.now())
      durations.push(performance.now() - begunMs)
    expect(count).toBe(299_999)
    expect(durations.length).toBeGreaterThan(1000)
    // A shared machine may stop the test in some of them.
    expect(durations.toSorted((a, b) => a - b)[500]).toBeLessThan(10)
  })
})
