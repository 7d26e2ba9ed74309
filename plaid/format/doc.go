// Package format reads, checks, writes and converts late-interaction indexes in the layouts
// of other programs:
//
//	FastPlaid14  fast-plaid 1.4 to 1.6: chunk files are the truth
//	FastPlaid17  fast-plaid 1.7: merged files are the truth
//	NextPlaid    next-plaid, with stored inverse norms or without
//	ColBERT      ColBERTv2 and PLAID: torch files
//	WARP         read only
//
// [Open] tells the layout by content and gives one view of all of them: documents are runs
// of tokens, a token is the number of its centroid and a row of packed residuals (package
// codec), and each centroid has a list of the documents that own a token of it. [Write]
// makes any layout but WARP of any [Source], an open index included: codes and residual
// bytes are carried over as they are. [Check] is fsck, [Repair] rebuilds what is derivable.
//
// # Reading
//
// Opening never changes a folder, needs no lock and works on read-only file systems. The
// truth is in the arrays: counts in JSON files are compared with them, and a difference is a
// warning ([Index.Warnings]). A file that is not whole fails to open, whatever it is for.
//
// Payload is read where it is asked for, at its position, and never mapped: fast-plaid
// resizes its files in place, and a mapping that loses its pages ends the process, while a
// read that comes up short is an error here ([ErrChanged]) that names the file. Positioned
// reads also need no alignment, which next-plaid's headers would deny, and work on every
// file system. A file replaced by rename keeps its old content until the index is reopened.
//
// Whatever a file says is checked before it is used: codes and document ids that come out of
// an Index are in range. Pickles are read by an interpreter that can make tensors and
// nothing else.
package format
