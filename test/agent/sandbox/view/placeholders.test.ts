import { randomBytes } from 'node:crypto'
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
  appendFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createPlaceholderJournal } from '../../../../agent/src/sandbox/view/placeholder-journal.ts'
import type { Placeholder } from '../../../../agent/src/sandbox/view/placeholder-plan.ts'
import { createPlaceholders } from '../../../../agent/src/sandbox/view/placeholders.ts'
import { exists } from '../../fixture/view-scene.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'

async function scene() {
  const directory = await temporaryDirectory()
  const ws = join(directory, 'ws')
  mkdirSync(ws)
  const file = join(directory, 'journal')
  const journal = createPlaceholderJournal(file)
  const randomName = (): string => randomBytes(16).toString('hex')
  const open = () => createPlaceholders({ journal: createPlaceholderJournal(file), randomName })
  const placeholder = (name: string, kind: Placeholder['kind'] = 'file'): Placeholder => ({
    path: join(ws, name),
    level: 'hidden',
    kind,
    isDenied: true,
  })
  return {
    directory,
    ws,
    file,
    journal,
    open,
    placeholder,
    names: () => readdirSync(ws).toSorted(),
  }
}

describe('placeholders', () => {
  it('take denied names with empty objects, and give them up', async () => {
    const { names, open, placeholder, file } = await scene()

    const release = await open().hold([placeholder('.env'), placeholder('keys', 'directory')])
    expect(names()).toEqual(['.env', 'keys'])
    await release()
    expect(names()).toEqual([])
    expect(readFileSync(file, 'utf8')).toBe('')
  })

  it('stay until their last holder is gone', async () => {
    const { names, open, placeholder } = await scene()
    const placeholders = open()
    const first = await placeholders.hold([placeholder('.env')])
    const second = await placeholders.hold([placeholder('.env')])

    await first()
    await first()
    expect(names()).toEqual(['.env'])
    await second()
    expect(names()).toEqual([])
  })

  it('are made again for the next holder when a program outside has removed them', async () => {
    const { names, open, placeholder, ws } = await scene()
    const placeholders = open()
    const both = [placeholder('.env'), placeholder('keys', 'directory')]
    const first = await placeholders.hold(both)
    unlinkSync(join(ws, '.env'))
    rmdirSync(join(ws, 'keys'))

    const second = await placeholders.hold(both)
    expect(names()).toEqual(['.env', 'keys'])
    await first()
    expect(names()).toEqual(['.env', 'keys'])
    await second()
    expect(names()).toEqual([])
  })

  it('are not what a program outside has put in their place', async () => {
    const { open, placeholder, ws } = await scene()
    const placeholders = open()
    await placeholders.hold([placeholder('.env'), placeholder('a')])
    const isHeld = (name: string): boolean => placeholders.isHeld(join(ws, name))
    expect(['.env', 'a', 'b'].map(isHeld)).toEqual([true, true, false])

    writeFileSync(join(ws, '.env'), 'content')
    unlinkSync(join(ws, 'a'))
    expect(['.env', 'a', 'b'].map(isHeld)).toEqual([false, false, false])
  })

  it('never replace an object that exists, and then leave the others away too', async () => {
    const { names, open, placeholder, ws } = await scene()
    writeFileSync(join(ws, 'b'), 'content')
    mkdirSync(join(ws, 'c'))

    for (const taken of [placeholder('b'), placeholder('c', 'directory'), placeholder('c')]) {
      await expect(open().hold([placeholder('a'), taken])).rejects.toThrow(
        /cannot be kept from being created/,
      )
      expect(names()).toEqual(['b', 'c'])
    }
    expect(readFileSync(join(ws, 'b'), 'utf8')).toBe('content')
  })

  it('case 94: leave a file alone that has content or another inode now', async () => {
    const { names, open, placeholder, ws } = await scene()
    const release = await open().hold(['a', 'b', 'c'].map((name) => placeholder(name)))
    writeFileSync(join(ws, 'a'), 'content')
    unlinkSync(join(ws, 'b'))
    writeFileSync(join(ws, 'b'), '')
    unlinkSync(join(ws, 'c'))

    await release()
    expect(names()).toEqual(['a', 'b'])
  })

  it('case 94: leave a link alone that took the place of a placeholder or directory', async () => {
    const { directory, open, placeholder, ws } = await scene()
    mkdirSync(join(ws, 'd'))
    mkdirSync(join(directory, 'outside'))
    writeFileSync(join(directory, 'outside/a'), '')
    const release = await open().hold([placeholder('d/a'), placeholder('x')])
    unlinkSync(join(ws, 'x'))
    symlinkSync(join(directory, 'outside/a'), join(ws, 'x'))
    unlinkSync(join(ws, 'd/a'))
    rmdirSync(join(ws, 'd'))
    symlinkSync(join(directory, 'outside'), join(ws, 'd'))

    await release()
    expect(exists(join(directory, 'outside/a'))).toBe(true)
    expect(lstatSync(join(ws, 'x')).isSymbolicLink()).toBe(true)
    expect(lstatSync(join(ws, 'd')).isSymbolicLink()).toBe(true)
  })

  it('case 94: leave a directory alone that has entries', async () => {
    const { names, open, placeholder, ws } = await scene()
    const release = await open().hold([placeholder('keys', 'directory')])
    writeFileSync(join(ws, 'keys/real'), '')

    await release()
    expect(names()).toEqual(['keys'])
  })

  it('are given up although one is out of reach, which a later removal tries again', async () => {
    const { names, open, placeholder, ws } = await scene()
    const placeholders = open()
    mkdirSync(join(ws, 'd/e'), { recursive: true })
    const release = await placeholders.hold([placeholder('d/e/a'), placeholder('b')])
    renameSync(join(ws, 'd'), join(ws, 'moved'))
    symlinkSync('d', join(ws, 'd'))

    await expect(release()).rejects.toThrow('ELOOP')
    expect(names()).toEqual(['d', 'moved'])
    expect(placeholders.isHeld(join(ws, 'b'))).toBe(false)
    unlinkSync(join(ws, 'd'))
    renameSync(join(ws, 'moved'), join(ws, 'd'))
    await (
      await placeholders.hold([placeholder('c')])
    )()
    expect(readdirSync(join(ws, 'd/e'))).toEqual([])
  })

  it('do not stop the next agent when one of them cannot be reached after a kill', async () => {
    const { names, open, placeholder, ws } = await scene()
    mkdirSync(join(ws, 'd/e'), { recursive: true })
    await open().hold([placeholder('d/e/a'), placeholder('b')])
    renameSync(join(ws, 'd'), join(ws, 'moved'))
    symlinkSync('d', join(ws, 'd'))

    await open().recover()
    expect(names()).toEqual(['d', 'moved'])
    unlinkSync(join(ws, 'd'))
    renameSync(join(ws, 'moved'), join(ws, 'd'))
    await open().recover()
    expect(readdirSync(join(ws, 'd/e'))).toEqual([])
  })

  it('leave no trace in the journal of a name that cannot be taken, and say why', async () => {
    const { file, names, open, placeholder } = await scene()

    const held = open().hold([placeholder('a'), placeholder('missing/b')])
    await expect(held).rejects.toThrow(/missing\/b` cannot be kept from being created \(ENOENT\)/)
    expect([names(), readFileSync(file, 'utf8')]).toEqual([[], ''])
  })

  it('are removed by the next agent after a kill', async () => {
    const { names, open, placeholder } = await scene()
    await open().hold([placeholder('a'), placeholder('b', 'directory')])

    await open().recover()
    expect(names()).toEqual([])
  })

  it('are removed after a kill at any line of the journal, and in the middle of one', async () => {
    const { file, journal, names, open, placeholder, ws } = await scene()
    const draft = `.palisade-${'0'.repeat(32)}`
    await open().hold([placeholder('a')])
    writeFileSync(join(ws, draft), '')
    await journal.put([{ draft, directory: ws, name: 'b', kind: 'file', object: null }])
    appendFileSync(file, '{"draft":".palisade-')

    await open().recover()
    expect(names()).toEqual([])
  })

  it('are found again behind a line that was cut by a full disk', async () => {
    const { file, journal, placeholder, ws } = await scene()
    appendFileSync(file, '{"draft":".palisade-')
    const { kind, path } = placeholder('a')
    const draft = `.palisade-${'0'.repeat(32)}`
    const record = { draft, directory: ws, name: basename(path), kind, object: null }
    await journal.put([record])

    expect(await journal.read()).toEqual([record])
  })

  it('are not what a damaged journal names', async () => {
    const { file, names, open, ws } = await scene()
    writeFileSync(join(ws, 'mine'), '')
    const { dev: device, ino: inode } = lstatSync(join(ws, 'mine'))
    const object = { device, inode: inode + 1, bornMs: 0 }
    for (const entry of [
      { draft: 'mine', directory: ws, name: 'mine', kind: 'file', object: null },
      { draft: `.palisade-${'0'.repeat(32)}`, directory: ws, name: 'mine', kind: 'file', object },
      { draft: `.palisade-${'1'.repeat(32)}`, directory: '/', name: '../x', kind: 'file', object },
      7,
    ])
      appendFileSync(file, `${JSON.stringify(entry)}\n`)

    await open().recover()
    expect(names()).toEqual(['mine'])
  })
})
