/** One `struct sock_filter` of the kernel's linux/filter.h. */
export interface Instruction {
  readonly code: number
  /** Instructions to skip if the condition holds, 0–255. */
  readonly jt: number
  /** Instructions to skip if it does not hold, 0–255. */
  readonly jf: number
  readonly k: number
}

/**
 * Instructions in the order of their execution. The ones made here are all that the kernel can
 * evaluate in advance: a call that no argument decides then costs no run of the program.
 */
export type Block = readonly Instruction[]

const LOAD_WORD = 0x20
const AND = 0x54
const JUMP = 0x05
const JUMP_IF_EQUAL = 0x15
const JUMP_IF_AT_LEAST = 0x35
const JUMP_IF_ANY_BIT = 0x45
const RETURN = 0x06

/** A conditional jump has one byte for its distance. */
const MAX_BRANCH = 255
const INSTRUCTION_BYTES = 8

/** Loads 32 bits at an offset of `struct seccomp_data` into the accumulator. */
export function load(offset: number): Instruction {
  return { code: LOAD_WORD, jt: 0, jf: 0, k: offset }
}

/** Keeps only `bits` of the accumulator. */
export function keepBits(bits: number): Instruction {
  return { code: AND, jt: 0, jf: 0, k: bits }
}

/** Ends the program with a `SECCOMP_RET_…` value. */
export function answer(action: number): Instruction {
  return { code: RETURN, jt: 0, jf: 0, k: action }
}

/**
 * Runs `then` if the accumulator equals one of `values`, and else continues behind it. `then` must
 * end with an answer, as in the other conditions: a block that came back would have changed the
 * accumulator.
 */
export function whenEqual(values: readonly number[], then: Block): Block {
  const tests = values.map((value, index) => branch(JUMP_IF_EQUAL, value, values.length - index))
  return [...tests, jump(then.length), ...then]
}

/** Runs `then` if the accumulator, unsigned, is `value` or more. */
export function whenAtLeast(value: number, then: Block): Block {
  return [branch(JUMP_IF_AT_LEAST, value, 1), jump(then.length), ...then]
}

/** Runs `then` if the accumulator has at least one of `bits`. */
export function whenAnyBit(bits: number, then: Block): Block {
  return [branch(JUMP_IF_ANY_BIT, bits, 1), jump(then.length), ...then]
}

/** The bytes that the kernel reads on a little-endian machine, as x86_64 and aarch64 are. */
export function encodeInstructions(program: Block): Buffer {
  const bytes = Buffer.alloc(program.length * INSTRUCTION_BYTES)
  for (const [index, { code, jt, jf, k }] of program.entries()) {
    const at = index * INSTRUCTION_BYTES
    bytes.writeUInt16LE(code, at)
    bytes.writeUInt8(jt, at + 2)
    bytes.writeUInt8(jf, at + 3)
    bytes.writeUInt32LE(k, at + 4)
  }
  return bytes
}

function branch(code: number, k: number, jt: number): Instruction {
  if (jt > MAX_BRANCH) throw new RangeError(`a branch over ${jt} instructions is too long`)
  return { code, jt, jf: 0, k }
}

/** Skips any number of instructions; it takes the long way round that a branch cannot. */
function jump(distance: number): Instruction {
  return { code: JUMP, jt: 0, jf: 0, k: distance }
}
