import type { Enrolment, KeptEnrolment } from '@palisade/protocol'

/** The enrolment as its file keeps it: with the name, which the answer does not hold. */
export function keepName(enrolment: Enrolment, name: string | undefined): KeptEnrolment {
  return name === undefined ? enrolment : { ...enrolment, name }
}
