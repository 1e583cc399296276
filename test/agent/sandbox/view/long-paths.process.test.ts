import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { guardedView } from '../../fixture/running-view.ts'
import { exists, putFile, viewScene, type ViewScene } from '../../fixture/view-scene.ts'

/** Makes a directory whose path has more bytes than the kernel takes. */
const DEEP =
  'd=$(printf "%0200d" 0); mkdir deep; cd deep; ' +
  'i=0; while [ $i -lt 25 ]; do mkdir $d && cd $d || break; i=$((i + 1)); done'
const TOO_LONG = /^the workspace .* has the path `.*\/deep\/.*…`, which is longer than 3840 bytes; /

async function sceneOfLongPaths(): Promise<ViewScene> {
  const scene = await viewScene()
  // Node removes a directory by its path.
  onTestFinished(() => void execFileSync('rm', ['-rf', join(scene.ws, 'deep')]))
  return scene
}

it('a path that is too long refuses a workspace at the start, with its beginning', async () => {
  const scene = await sceneOfLongPaths()
  execFileSync('sh', ['-c', DEEP], { cwd: scene.ws, stdio: 'ignore' })

  await expect(scene.plan()).rejects.toThrow(
    expect.objectContaining({ code: 'ERR_VIEW_REFUSED', message: expect.stringMatching(TOO_LONG) }),
  )
})

it('a path that is too long ends the command, and hides no other name from the end', async () => {
  const scene = await sceneOfLongPaths()
  putFile(scene, 'a/x')
  const view = await guardedView(scene, await scene.plan())

  await view
    .run(
      'export HOME=/tmp; mkdir -p n/m; echo x > n/m/.envrc; git init --quiet r; ' +
        `{ ${DEEP}; echo x > .envrc; }`,
    )
    .catch(() => '')
  await expect.poll(() => view.hasEnded(), { timeout: 20_000 }).toBe(true)
  expect(view.problems).toEqual([expect.stringMatching(/hidden: the workspace .* 3840 bytes; /)])
  // The guard may end the command while the path is short enough for the kernel.
  execFileSync('sh', ['-c', `rm -rf deep; ${DEEP}`], { cwd: scene.ws, stdio: 'ignore' })
  expect(await view.finish()).toMatch(/\/deep\/.*…` could not be checked \(ENAMETOOLONG\)$/)
  expect(exists(join(scene.ws, 'n/m/.envrc'))).toBe(false)
  expect(exists(join(scene.ws, 'r/.git/config'))).toBe(false)
})
