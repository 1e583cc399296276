import { runSteps, type PathDenies } from '@palisade/policy-core'
import { linkSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createViewDisk } from '../../../../agent/src/sandbox/view/disk.ts'
import { HiddenObjects } from '../../../../agent/src/sandbox/view/hidden-objects.ts'
import type { Workspace } from '../../../../agent/src/sandbox/view/workspace.ts'

const SAVED = {
  object: 'of another start',
  path: '/nowhere',
  directory: '',
  workspaces: ['/nowhere'],
  stays: false,
}

describe('the objects that were hidden', () => {
  let [root, file] = ['', '']
  let hidden: HiddenObjects
  const [sandbox, other] = [{}, {}]

  const open = () =>
    new HiddenObjects({
      file,
      disk: createViewDisk(),
      log: { warn: (line: unknown) => expect.fail(JSON.stringify(line)) },
    })
  const deniesOf = (isDenied: (path: string) => boolean): PathDenies => {
    const at = (path: string) => ({ denies: { read: isDenied(path), write: false } })
    return { at } as Partial<PathDenies> as PathDenies
  }
  const workspaceAt = (path: string): Workspace =>
    ({ path, access: 'rw', aliases: [] }) as Partial<Workspace> as Workspace
  const found = (path = root, isDenied = (_path: string) => false) =>
    runSteps(hidden.find([workspaceAt(path)], deniesOf(isDenied))).map((held) =>
      held.path.slice(root.length),
    )

  beforeEach(() => {
    const directory = mkdtempSync(join(tmpdir(), 'palisade-hidden-'))
    root = join(directory, 'ws')
    file = join(directory, 'hidden.json')
    for (const name of ['', 'd', 'd/keys']) mkdirSync(join(root, name))
    writeFileSync(join(root, 'd/keys/key'), 'secret')
    hidden = open()
    hidden.add(sandbox, join(root, 'd/keys/key'), root)
  })
  afterEach(async () => {
    await hidden.saved()
    rmSync(join(root, '..'), { recursive: true })
  })
  const move = () => renameSync(join(root, 'd'), join(root, 'e'))

  it('are found where they are now, by a later agent too', async () => {
    move()
    hidden.settle(sandbox)
    await hidden.saved()
    hidden = open()

    expect(found()).toEqual(['/e/keys/key'])
    expect(found()).toEqual(['/e/keys/key'])
  })

  it('are forgotten when they are in place at the end of all sandboxes', () => {
    hidden.add(other, join(root, 'd/keys/key'), root)
    hidden.settle(sandbox)
    expect(found()).toEqual(['/d/keys/key'])

    hidden.settle(other)
    expect(found()).toEqual([])
  })

  it('are forgotten where a rule denies them, but not while a sandbox could move them', () => {
    move()
    const isDenied = (path: string) => path.startsWith(join(root, 'e'))
    expect(found(root, isDenied)).toEqual([])
    expect(found()).toEqual(['/e/keys/key'])

    hidden.settle(sandbox)
    expect(found(root, isDenied)).toEqual([])
    expect(found()).toEqual([])
  })

  it('are forgotten once they are gone from their workspace, and not from another one', () => {
    move()
    hidden.settle(sandbox)
    expect(found(join(root, '..'))).toEqual(['/e/keys/key'])
    renameSync(join(root, 'e'), join(root, '../away'))
    mkdirSync(join(root, 'inner'))
    expect(found(join(root, 'inner'))).toEqual([])
    renameSync(join(root, '../away'), join(root, 'f'))
    expect(found()).toEqual(['/f/keys/key'])

    rmSync(join(root, 'f'), { recursive: true })
    expect(found()).toEqual([])
    writeFileSync(join(root, 'key'), 'other')
    expect(found()).toEqual([])
  })

  it('are kept beside a decoy at their path, and replaced in their own directory', () => {
    renameSync(join(root, 'd'), join(root, 'e'))
    for (const name of ['d', 'd/keys']) mkdirSync(join(root, name))
    for (const content of ['decoy', 'decoy, saved again']) {
      rmSync(join(root, 'd/keys/key'), { force: true })
      writeFileSync(join(root, 'd/keys/key'), content)
      hidden.add(sandbox, join(root, 'd/keys/key'), root)
    }

    expect(found().toSorted()).toEqual(['/d/keys/key', '/e/keys/key'])
  })

  it('are forgotten only once none of their workspaces has them', () => {
    hidden.add(other, join(root, 'd/keys/key'), join(root, 'd'))
    hidden.settle(sandbox)
    hidden.settle(other)
    hidden.add(sandbox, join(root, 'd/keys/key'), join(root, 'd'))
    hidden.add(other, join(root, 'd/keys/key'), root)
    renameSync(join(root, 'd/keys'), join(root, 'e'))
    hidden.settle(sandbox)
    hidden.settle(other)

    expect(found(join(root, 'd'))).toEqual([])
    expect(found()).toEqual(['/e/key'])
  })

  it('stop a start where a name cannot be looked at: a command could open it again', async () => {
    move()
    hidden.settle(sandbox)
    await hidden.saved()
    const disk = createViewDisk()
    const closed = Object.assign(new Error('closed'), { code: 'EACCES' })
    hidden = new HiddenObjects({
      file,
      disk: {
        ...disk,
        status(path) {
          if (String(path).endsWith('key')) throw closed
          return disk.status(path)
        },
      },
      log: { warn: () => {} },
    })
    writeFileSync(file, JSON.stringify([SAVED]))

    expect(() => found()).toThrow('`' + join(root, 'e/keys/key') + '` cannot be looked at (EACCES)')
  })

  it('are written again once there is room', async () => {
    await hidden.saved()
    const warnings: unknown[] = []
    file = join(root, 'none/hidden.json')
    hidden = new HiddenObjects({
      file,
      disk: createViewDisk(),
      log: { warn: (line: unknown) => warnings.push(line) },
    })
    hidden.add(sandbox, join(root, 'd/keys/key'), root)
    await hidden.saved()
    expect(warnings).toHaveLength(1)

    mkdirSync(join(root, 'none'))
    move()
    hidden.settle(sandbox)
    await hidden.saved()
    hidden = open()

    expect(found()).toEqual(['/e/keys/key'])
  })

  it('are kept under a name that alone hides them, whatever hid them before', () => {
    hidden.add(sandbox, join(root, 'd/keys/key'), root, true)
    hidden.settle(sandbox)

    expect(found()).toEqual(['/d/keys/key'])
  })

  it('are held under all their names', () => {
    linkSync(join(root, 'd/keys/key'), join(root, 'other'))

    expect(found().toSorted()).toEqual(['/d/keys/key', '/other'])
  })

  it('end the sandbox that makes too many', () => {
    const make = (index: number): void => {
      const directory = join(root, `d${index}`)
      mkdirSync(directory)
      writeFileSync(join(directory, 'key'), '')
      hidden.add(sandbox, join(directory, 'key'), root)
    }

    expect(() => Array.from({ length: 2_000 }, (_, index) => make(index))).toThrow('more than 2000')
  })

  it('stop a start where they may be in a directory whose name is not UTF-8', () => {
    const directory = join(root, 'o')
    mkdirSync(directory)
    renameSync(join(root, 'd'), Buffer.from(`${directory}/n\u00ff`, 'latin1'))

    expect(() => found()).toThrow(/has a name that is not UTF-8, and may have the former/)
  })

  it('are not guessed from a damaged list', async () => {
    await hidden.saved()
    writeFileSync(file, '[{}]')
    hidden = open()

    expect(() => found()).toThrow('is damaged')
  })
})
