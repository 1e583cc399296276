import { expect, it } from 'vitest'
import { isSettled } from '../../../bench/src/sandbox/sandbox-machine.ts'

it.each([
  [['unshare', 'cat'], 0, true],
  [['unshare', 'MainThread'], 0, false],
  [[], 0, false],
  [['unshare', 'cat', 'mkfifo'], 0, false],
  [['unshare', 'cat', 'perl', 'unshare', 'cat'], 0, false],
  [['unshare', 'cat', 'perl', 'unshare', 'cat'], 1, true],
  [['unshare', 'cat', 'perl', 'unshare', 'node'], 1, false],
])(
  'tells whether the processes %j are those of a settled agent beside %i',
  (names, running, is) => {
    expect(isSettled(names, running)).toBe(is)
  },
)
