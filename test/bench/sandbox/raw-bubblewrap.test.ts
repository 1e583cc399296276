import { expect, it } from 'vitest'
import { encodeBubblewrapArguments } from '../../../agent/src/sandbox/launch/bubblewrap-arguments.ts'
import { withoutAgent } from '../../../bench/src/sandbox/raw-bubblewrap.ts'

it('keeps everything of the arguments but the descriptors of the agent', () => {
  const encoded = encodeBubblewrapArguments({
    uid: 1,
    gid: 2,
    hostname: 'sandbox',
    mounts: [{ kind: 'dir', target: '/a' }],
    cwd: '/a',
    variables: new Map([['NAME', 'value']]),
    emptyFile: '/empty',
    emptyDirectory: '/none',
    seccompFd: 4,
    gateFd: 5,
    infoFd: 6,
  })
  const words = encoded.toString().split('\0').slice(0, -1)

  expect(withoutAgent(words)).toEqual(['--unshare-net', ...words.slice(0, -6)])
  expect(words.slice(-6)).toEqual(['--seccomp', '4', '--block-fd', '5', '--info-fd', '6'])
})
