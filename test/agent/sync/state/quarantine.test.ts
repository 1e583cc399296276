import {
  chmod,
  lstat,
  mkdir,
  readdir,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { quarantine } from '../../../../agent/src/sync/state/quarantine.ts'
import { NOW_MS } from '../../fixture/bundle.ts'
import { expectKept, policies, request, setUp, type Scene } from '../../fixture/sync-scene.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'

const SPOILS: readonly (readonly [string, (directory: string) => Promise<unknown>])[] = [
  ['open to writes of others', (directory) => chmod(directory, 0o777)],
  [
    'a symbolic link',
    async (directory) => {
      await rename(directory, `${directory}-elsewhere`)
      await symlink(`${directory}-elsewhere`, directory)
    },
  ],
  [
    'a file',
    async (directory) => {
      await rm(directory, { recursive: true })
      await writeFile(directory, 'in the way')
    },
  ],
]

/** A machine with its state in `policy`, and a start of it that returns its problem. */
async function keptMachine() {
  const directory = join(await temporaryDirectory(), 'policy')
  await mkdir(directory, { mode: 0o700 })
  const scene = await setUp(directory)
  const served = scene.repository.release({ policies })
  expect(await scene.sync(served)).toMatchObject({ error: null })
  return { scene, served, directory }
}

const restart = ({ directory, repository }: Scene) => setUp(directory, repository)
const rejectedIn = async (directory: string, name: string) =>
  (await readdir(directory)).filter((each) => each.startsWith(`${name}.rejected-`))

describe.each(['policy', 'policy/documents'])('when at a start `%s`', (place) => {
  it.each(SPOILS)('is %s, it is moved aside and created again', async (_what, spoil) => {
    const { scene, served, directory } = await keptMachine()
    const spoilt = join(dirname(directory), place)
    await spoil(spoilt)
    const target = await readlink(spoilt).catch(() => dirname(spoilt))

    const again = await restart(scene)

    expect(again.active.state()).toBe('corrupt')
    expect(again.active.decide(request).decision).toBe('deny')
    expect(await rejectedIn(dirname(spoilt), basename(spoilt))).toHaveLength(1)
    expect(await again.sync(served)).toMatchObject({ outcome: 'updated', error: null })
    expect(await lstat(spoilt).then(({ mode }) => mode & 0o777)).toBe(0o700)
    // The target of a link is left alone.
    expect((await lstat(target)).isDirectory()).toBe(true)
    // The next start has no problem to report.
    const third = await restart(scene)
    expectKept(third)
    expect(await rejectedIn(dirname(spoilt), basename(spoilt))).toHaveLength(1)
  })

  it('is open to reads of others, it is closed and used', async () => {
    const { scene, directory } = await keptMachine()
    const open = join(dirname(directory), place)
    await chmod(open, 0o755)

    expectKept(await restart(scene))

    expect((await lstat(open)).mode & 0o777).toBe(0o700)
    expect(await rejectedIn(dirname(open), basename(open))).toEqual([])
  })
})

it('reports which directory was replaced, and why', async () => {
  const { scene, directory } = await keptMachine()
  await chmod(join(directory, 'documents'), 0o777)

  const { restored: problem } = await restart(scene)

  expect(problem?.file).toContain('documents.rejected-')
  expect(problem?.message).toMatch(/documents` was writable by other users$/)
})

it('keeps the four newest of the quarantined directories', async () => {
  const directory = await temporaryDirectory()
  const file = join(directory, 'state.json')
  for (let second = 0; second < 9; second += 1) {
    await writeFile(file, String(second))
    await quarantine(file, NOW_MS + second * 1000)
  }
  await writeFile(join(directory, 'other.json.rejected-2020'), '')

  const left = await rejectedIn(directory, 'state.json')

  expect(left).toHaveLength(4)
  expect(left.at(0)).toContain(
    new Date(NOW_MS + 5000).toISOString().slice(14, 19).replace(':', '-'),
  )
  expect(await rejectedIn(directory, 'other.json')).toHaveLength(1)
})
