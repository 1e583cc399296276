import { describe, expect, it } from 'vitest'
import { parseLimits } from '../../../packages/cli/src/sandbox/parse-limits.ts'

describe('parseLimits', () => {
  it('reads names and values, in one text or in several', () => {
    const texts = ['processes=200,memory=2G', 'tmp=512MiB', 'process-memory=1048576', 'files=64']
    expect(parseLimits(texts)).toEqual({
      kind: 'read',
      limits: {
        processes: 200,
        memory_bytes: 2 ** 31,
        tmp_bytes: 2 ** 29,
        process_memory_bytes: 2 ** 20,
        files: 64,
      },
    })
    expect(parseLimits([])).toEqual({ kind: 'read', limits: {} })
  })

  it.each([
    ['cpu=1', '`cpu` is no limit; write one of processes, memory, process-memory, tmp, files'],
    ['', '`` is no limit'],
    ['constructor=1', '`constructor` is no limit'],
    ['processes', 'the limit `processes` must be a whole number above 0, such as `200`'],
    ['processes=2K', 'whole number'],
    ['processes=0', 'whole number'],
    ['processes=-1', 'whole number'],
    ['processes=1e3', 'whole number'],
    ['memory=2', 'must be a size of at least 1M, such as `512M` or `2G`'],
    ['memory=512MB', 'must be a size'],
    ['memory=1.5G', 'must be a size'],
    ['tmp=999999999999999G', 'must be a size'],
    ['tmp=1M,tmp=2M', 'the limit `tmp` is given twice'],
  ])('refuses %j', (text, problem) => {
    const outcome = parseLimits([text])
    expect(outcome).toMatchObject({ kind: 'invalid', problems: [expect.stringContaining(problem)] })
  })
})
