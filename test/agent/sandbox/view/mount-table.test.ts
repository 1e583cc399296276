import { describe, expect, it } from 'vitest'
import {
  aliasesOf,
  devicePathOf,
  mountOf,
  mountsBelow,
  parseMountTable,
} from '../../../../agent/src/sandbox/view/mount-table.ts'

const TABLE = [
  '20 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw',
  '21 20 0:5 / /proc rw,noexec - proc proc rw',
  '22 20 254:0 /secret /work rw,relatime - ext4 /dev/vda rw',
  String.raw`23 20 254:1 / /mnt/a\040b\134c\012d ro,relatime master:4 - xfs /dev/vdb rw`,
].join('\n')

describe('the mount table', () => {
  it('is read with its escapes, flags and types', () => {
    const table = parseMountTable(Buffer.from(`${TABLE}\n`))

    expect(table[3]).toEqual({
      id: 23,
      parent: 20,
      device: '254:1',
      root: '/',
      target: '/mnt/a b\\c\nd',
      isReadOnly: true,
      isNoExec: false,
      type: 'xfs',
    })
    expect(table[1]).toMatchObject({
      type: 'proc',
      isReadOnly: false,
      isNoExec: true,
    })
  })

  it('is refused with a line that cannot be read', () => {
    expect(() => parseMountTable(Buffer.from('20 1 254:0 / /\n'))).toThrow(SyntaxError)
  })

  it('tells the other paths of a directory that is mounted twice', () => {
    const table = parseMountTable(Buffer.from(TABLE))

    expect(aliasesOf(table, '/work/a')).toEqual(['/secret/a'])
    expect(aliasesOf(table, '/secret/a')).toEqual(['/work/a'])
    expect(aliasesOf(table, '/home')).toEqual([])
    expect(devicePathOf(table, '/work/a')).toEqual({ device: '254:0', root: '/secret/a' })
  })

  it('leaves out a path that another mount covers', () => {
    const covered = `${TABLE}\n24 22 0:9 / /work rw - tmpfs tmpfs rw`

    expect(aliasesOf(parseMountTable(Buffer.from(covered)), '/secret/a')).toEqual([])
  })

  it('tells that a later mount above covers a mask', () => {
    const covered = `${TABLE}\n24 22 0:9 /empty /work/a/.env ro - tmpfs tmpfs rw`
    const bared = `${covered}\n25 22 254:0 /secret/a /work/a ro - ext4 /dev/vda rw`
    const find = (text: string): number | undefined =>
      mountOf(parseMountTable(Buffer.from(text)), '/work/a/.env')?.id

    expect(find(covered)).toBe(24)
    expect(find(bared)).toBe(25)
  })

  it('is followed to its end when a mount has the id of the parent of the root', () => {
    const reused = `${TABLE}\n1 22 254:0 /x /work/x ro - ext4 /dev/vda rw`

    expect(mountOf(parseMountTable(Buffer.from(reused)), '/work/x')?.id).toBe(1)
  })

  it('lists the mounts below a directory, and not those beside it', () => {
    const table = parseMountTable(Buffer.from(TABLE))

    expect(mountsBelow(table, '/mnt').map(({ device }) => device)).toEqual(['254:1'])
    expect(mountsBelow(table, '/wor')).toEqual([])
    expect(mountsBelow(table, '/work')).toEqual([])
  })
})
