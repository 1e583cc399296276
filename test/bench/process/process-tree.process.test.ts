import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { treeOf } from '../../../bench/src/process/process-tree.ts'

it('lists the descendants of a process while it runs', async () => {
  const child = spawn('sh', ['-c', 'sleep 1000 & echo ready; read -r line; kill $!'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  const pid = child.pid ?? 0

  // The shell forks first.
  await expect.poll(() => treeOf(pid).map(({ name }) => name)).toEqual(['sh', 'sleep'])
  child.stdin.end('\n')
  await once(child, 'close')
  expect(treeOf(pid)).toEqual([])
})
