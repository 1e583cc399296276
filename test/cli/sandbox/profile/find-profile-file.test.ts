import { chmod, chown, mkdir, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findProfileFile } from '../../../../packages/cli/src/sandbox/profile/find-profile-file.ts'
import { temporaryDirectory } from '../../../agent/fixture/temporary-directory.ts'
import { NAME, find, repository } from './profile-repository.ts'

describe('findProfileFile', () => {
  it('finds the nearest file, up to the top of the repository', async () => {
    const { root, inner } = await repository()
    await writeFile(join(root, NAME), 'root')
    expect(await find(inner)).toEqual({ kind: 'found', path: join(root, NAME), text: 'root' })
    await writeFile(join(inner, NAME), 'inner')
    expect(await find(inner)).toMatchObject({ text: 'inner' })
  })

  it('finds no file above the repository', async () => {
    const { above, root, inner } = await repository()
    await writeFile(join(above, NAME), 'above')
    expect(await find(inner)).toEqual({ kind: 'missing', searched: root })
  })

  it('searches only the directory itself outside a repository', async () => {
    const directory = await temporaryDirectory()
    const inner = join(directory, 'inner')
    await mkdir(inner)
    await writeFile(join(directory, NAME), 'x')
    expect(await find(inner)).toEqual({ kind: 'missing', searched: inner })
    expect(await find(directory)).toMatchObject({ kind: 'found' })
  })

  it('refuses a file that all users can write', async () => {
    const { root } = await repository()
    await writeFile(join(root, NAME), 'x')
    await chmod(join(root, NAME), 0o666)
    const found = await find(root)
    expect(found).toMatchObject({ kind: 'refused', why: expect.stringContaining('chmod o-w') })
  })

  it('refuses a file of another user', async () => {
    const { root } = await repository()
    await writeFile(join(root, NAME), 'x')
    const refused = { kind: 'refused', why: expect.stringContaining('another user') }
    expect(await findProfileFile(root, userInfo().uid + 1)).toMatchObject(refused)
  })

  it.runIf(userInfo().uid === 0)('refuses a file that an ordinary user gave root', async () => {
    const { root } = await repository()
    await writeFile(join(root, NAME), 'x')
    await chown(join(root, NAME), 65534, 65534)
    expect(await find(root)).toMatchObject({ kind: 'refused' })
  })

  it.each([
    ['is larger than 64 KiB', Buffer.alloc(64 * 1024 + 1, 'a')],
    ['is not UTF-8 text', Buffer.from([0xff])],
  ])('refuses a file that %s', async (why, content) => {
    const { root } = await repository()
    await writeFile(join(root, NAME), content)
    expect(await find(root)).toMatchObject({ kind: 'refused', why })
  })
})
