import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { pssOf, treeOf } from '../../../bench/src/measure/process-tree.ts'

it('lists the descendants of a process and their memory while it runs', async () => {
  const child = spawn('sh', ['-c', 'sleep 1000 & echo ready; read -r line; kill $!'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  const pid = child.pid ?? 0

  // The shell forks first.
  await expect.poll(() => treeOf(pid).map(({ name }) => name)).toEqual(['sh', 'sleep'])
  for (const each of treeOf(pid)) expect(pssOf(each.pid)).toBeGreaterThan(0)
  child.stdin.end('\n')
  await once(child, 'close')
  expect(treeOf(pid)).toEqual([])
  expect(pssOf(pid)).toBe(0)
})
