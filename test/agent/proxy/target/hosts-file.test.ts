import { appendFile, mkdir, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  createHostsFile,
  findHostAddresses,
} from '../../../../agent/src/proxy/target/hosts-file.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'

describe('the hosts file', () => {
  const text = [
    '192.0.2.7\tFirst.Test a.test # c.test',
    '#192.0.2.8 a.test',
    '192.0.2.9 a.test.example.com xa.test a.tests -a.test',
    '2001:DB8::7 a.test#',
    '192.0.2.7 a.test',
    'fe80::1%lo0 b.test',
    'a.test a.test',
    '192.0.2.10 last.test',
  ].join('\r\n')

  it('gives the canonical addresses of a name, each once, in order', () => {
    const lower = text.toLowerCase()

    expect(findHostAddresses(lower, 'a.test')).toEqual(['192.0.2.7', '2001:db8::7'])
    expect(findHostAddresses(lower, 'first.test')).toEqual(['192.0.2.7'])
    expect(findHostAddresses(lower, 'last.test')).toEqual(['192.0.2.10'])
  })

  it('ignores comments, parts of names, and invalid addresses', () => {
    const lower = text.toLowerCase()

    expect(findHostAddresses(lower, 'c.test')).toEqual([])
    expect(findHostAddresses(lower, 'example.com')).toEqual([])
    expect(findHostAddresses(lower, 'b.test')).toEqual([])
    expect(findHostAddresses(lower, '192.0.2.9')).toEqual([])
  })

  it('is read again after a change', async () => {
    const path = join(await temporaryDirectory(), 'hosts')
    const find = createHostsFile(path)
    expect(await find('a.test')).toEqual([])

    await writeFile(path, '192.0.2.1 A.test\n')
    expect(await find('a.test')).toEqual(['192.0.2.1'])

    await appendFile(path, '192.0.2.2 a.test\n')
    expect(await find('a.test')).toEqual(['192.0.2.1', '192.0.2.2'])
  })

  it('gives no answer while it is unreadable, and is read as soon as it is readable', async () => {
    const path = join(await temporaryDirectory(), 'hosts')
    const find = createHostsFile(path)
    await mkdir(path)

    await expect(find('a.test')).rejects.toThrow('EISDIR')
    await expect(find('a.test')).rejects.toThrow('EISDIR')
    await rmdir(path)
    await writeFile(path, '192.0.2.1 a.test\n')

    expect(await find('a.test')).toEqual(['192.0.2.1'])
  })

  it('gives no answer when its parent is not a directory', async () => {
    const file = join(await temporaryDirectory(), 'file')
    await writeFile(file, '')

    await expect(createHostsFile(join(file, 'hosts'))('a.test')).rejects.toThrow('ENOTDIR')
  })
})
