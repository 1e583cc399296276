import { describe, expect, it } from 'vitest'
import {
  answer,
  encodeInstructions,
  keepBits,
  load,
  whenAnyBit,
  whenAtLeast,
  whenEqual,
  type Block,
} from '../../../../agent/src/sandbox/seccomp/instruction.ts'
import { runFilter } from './run-filter.ts'

const [YES, NO] = [1, 2]

/** The answer of a program that examines the number of a call. */
function ask(nr: number, ...blocks: Block[]): number {
  const program = encodeInstructions([load(0), ...blocks.flat(), answer(NO)])
  return runFilter(program, { arch: 0, nr, args: [] }).action
}

describe('a condition on the accumulator', () => {
  it('is equality with one of several values', () => {
    const block = whenEqual([3, 5, 0xffff_ffff], [answer(YES)])

    expect([3, 5, 0xffff_ffff].map((nr) => ask(nr, block))).toEqual([YES, YES, YES])
    expect([0, 4, 6, 0x7fff_ffff].map((nr) => ask(nr, block))).toEqual([NO, NO, NO, NO])
  })

  it('never holds without values', () => {
    expect([0, 1, 0xffff_ffff].map((nr) => ask(nr, whenEqual([], [answer(YES)])))).toEqual([
      NO,
      NO,
      NO,
    ])
  })

  it('is an unsigned comparison', () => {
    const block = whenAtLeast(0x4000_0000, [answer(YES)])

    expect([0x4000_0000, 0x8000_0000, 0xffff_ffff].map((nr) => ask(nr, block))).toEqual([
      YES,
      YES,
      YES,
    ])
    expect([0, 0x3fff_ffff].map((nr) => ask(nr, block))).toEqual([NO, NO])
  })

  it('is any of several bits', () => {
    const block = whenAnyBit(0x8000_0001, [answer(YES)])

    expect([1, 0x8000_0000, 0xffff_ffff].map((nr) => ask(nr, block))).toEqual([YES, YES, YES])
    expect([0, 2, 0x7fff_fffe].map((nr) => ask(nr, block))).toEqual([NO, NO, NO])
  })

  it('is about the bits that were kept', () => {
    expect(ask(0xfff3, [keepBits(0xf)], whenEqual([3], [answer(YES)]))).toBe(YES)
  })

  it('skips a block that is longer than a branch reaches', () => {
    const long = [...Array.from({ length: 600 }, () => load(0)), answer(YES)]

    expect(ask(1, whenEqual([1], long))).toBe(YES)
    expect(ask(2, whenEqual([1], long))).toBe(NO)
  })

  it('takes 255 values and refuses more', () => {
    const values = (count: number): number[] => Array.from({ length: count }, (_, index) => index)
    const block = whenEqual(values(255), [answer(YES)])

    expect([0, 1, 254].map((nr) => ask(nr, block))).toEqual([YES, YES, YES])
    expect(ask(255, block)).toBe(NO)
    expect(() => whenEqual(values(256), [answer(YES)])).toThrow(RangeError)
  })
})

describe('an encoded instruction', () => {
  it('has code, distances and operand in little-endian order', () => {
    expect(encodeInstructions([{ code: 0x15, jt: 1, jf: 255, k: 0xc000_003e }])).toEqual(
      Buffer.from([0x15, 0, 1, 255, 0x3e, 0, 0, 0xc0]),
    )
  })
})
