import { chmod, mkdir, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createBundleCache } from '../../../agent/src/sync/bundle-cache.ts'
import { NOW_MS } from '../fixture/bundle.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'

async function openCache(): Promise<{
  directory: string
  file: string
  cache: ReturnType<typeof createBundleCache>
}> {
  const directory = await temporaryDirectory()
  const file = join(directory, 'bundle.jws')
  return { directory, file, cache: createBundleCache(file, 1000) }
}

describe('the bundle cache', () => {
  it('gives back what was written, in a file of this user alone', async () => {
    const { directory, file, cache } = await openCache()

    await cache.write('first')
    await cache.write('second')

    expect(await cache.read()).toEqual({ kind: 'jws', jws: 'second' })
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await readdir(directory)).toEqual(['bundle.jws'])
  })

  it('is empty when there is no file', async () => {
    const { cache } = await openCache()

    expect(await cache.read()).toEqual({ kind: 'none' })
  })

  it('reads past a leftover that cannot be removed', async () => {
    const { directory, cache } = await openCache()
    await cache.write('whole')
    await mkdir(join(directory, 'bundle.jws.tmp-0', 'in-the-way'), { recursive: true })

    expect(await cache.read()).toEqual({ kind: 'jws', jws: 'whole' })
  })

  it('leaves the former file and no leftovers when a write fails', async () => {
    const { directory, cache } = await openCache()
    const blocked = join(directory, 'blocked')
    await mkdir(join(blocked, 'in-the-way'), { recursive: true })

    await cache.write('good')
    await expect(createBundleCache(blocked, 1000).write('new')).rejects.toThrow('EISDIR')

    expect(await cache.read()).toEqual({ kind: 'jws', jws: 'good' })
    expect((await readdir(directory)).toSorted()).toEqual(['blocked', 'bundle.jws'])
  })

  it('removes what a crash in the middle of a write left', async () => {
    const { directory, file, cache } = await openCache()
    await cache.write('good')
    await writeFile(`${file}.tmp-0123`, 'ha', { mode: 0o600 })

    expect(await cache.read()).toEqual({ kind: 'jws', jws: 'good' })
    expect(await readdir(directory)).toEqual(['bundle.jws'])
  })

  it.each([
    [
      'a file that others may write',
      (file: string) => writeFile(file, 'x').then(() => chmod(file, 0o666)),
    ],
    ['a directory', (file: string) => mkdir(file)],
    ['a symbolic link', (file: string) => symlink('/dev/null', file)],
    [
      'a file that is too large',
      (file: string) => writeFile(file, 'x'.repeat(1001), { mode: 0o600 }),
    ],
    [
      'bytes that are not UTF-8',
      (file: string) => writeFile(file, Buffer.of(0xff), { mode: 0o600 }),
    ],
  ])('does not read %s', async (_what, make) => {
    const { file, cache } = await openCache()
    await make(file)

    expect(await cache.read()).toMatchObject({ kind: 'unreadable' })
  })

  it('sets the file aside under a name that tells when', async () => {
    const { directory, cache } = await openCache()
    await cache.write('bad')

    const path = await cache.setAside(NOW_MS)

    expect(path).toBe(join(directory, 'bundle.jws.rejected-2026-11-21T12-00-00-000Z'))
    expect(await readFile(path ?? '', 'utf8')).toBe('bad')
    expect(await cache.read()).toEqual({ kind: 'none' })
  })
})
