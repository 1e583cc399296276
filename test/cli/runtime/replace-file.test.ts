import { once } from 'node:events'
import { lstat, open, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createFile, replaceFile } from '../../../packages/cli/src/runtime/replace-file.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

describe('a new file', () => {
  it('is written in full', async () => {
    await using directory = await temporaryDirectory()
    const path = join(directory.path, 'new.yaml')

    await createFile(path, 'new.yaml', 'policies: []\n')

    expect(await readFile(path, 'utf8')).toBe('policies: []\n')
  })

  it('replaces no file and follows no link that came into being meanwhile', async () => {
    await using directory = await temporaryDirectory()
    await directory.write('edited.yaml', 'edited')
    await symlink(join(directory.path, 'elsewhere'), join(directory.path, 'link.yaml'))

    for (const name of ['edited.yaml', 'link.yaml'])
      await expect(createFile(join(directory.path, name), name, 'new')).rejects.toThrow(name)

    expect(await readFile(join(directory.path, 'edited.yaml'), 'utf8')).toBe('edited')
    expect((await readdir(directory.path)).toSorted()).toEqual(['edited.yaml', 'link.yaml'])
  })
})

it('a link is followed, also to a file without a name, which cannot be replaced', async () => {
  await using directory = await temporaryDirectory()
  const [file, link] = [join(directory.path, 'file'), join(directory.path, 'link')]
  await directory.write('file', 'before')
  await symlink(file, link)
  await replaceFile(link, 'link', 'after')
  expect(await readFile(file, 'utf8')).toBe('after')

  await using handle = await open(file)
  await rm(file)
  await rm(link)
  await symlink(`/proc/self/fd/${handle.fd}`, link)
  const refused = replaceFile(link, 'link', 'text')
  await expect(refused).rejects.toMatchObject({ exitCode: 78 })

  expect((await lstat(link)).isSymbolicLink()).toBe(true)
  expect(await readdir(directory.path)).toEqual(['link'])
})

it('a file that is replaced is a regular one: a pipe, a socket and a device stay', async () => {
  await using directory = await temporaryDirectory()
  const path = join(directory.path, 'socket')
  await using server = createServer().listen(path)
  await once(server, 'listening')

  await expect(replaceFile(path, 'socket', 'text')).rejects.toMatchObject({
    exitCode: 2,
    message: 'socket: is not a regular file; name another',
  })

  expect((await lstat(path)).isSocket()).toBe(true)
  expect(await readdir(directory.path)).toEqual(['socket'])
})
