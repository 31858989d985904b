// Checks a metalwright checkpoint and proofs with Go's own sumdb/note and sumdb/tlog.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type question struct {
	Key     string   `json:"key"`
	Note    string   `json:"note"`
	Record  []byte   `json:"record"`
	Index   int64    `json:"index"`
	Proof   [][]byte `json:"inclusion"`
	OldSize int64    `json:"old_size"`
	OldRoot []byte   `json:"old_root"`
	Tree    [][]byte `json:"consistency"`
}

func hashes(from [][]byte) []tlog.Hash {
	var found []tlog.Hash
	for _, each := range from {
		var hash tlog.Hash
		copy(hash[:], each)
		found = append(found, hash)
	}
	return found
}

func check() error {
	data, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	var asked question
	if err := json.Unmarshal(data, &asked); err != nil {
		return err
	}
	verifier, err := note.NewVerifier(asked.Key)
	if err != nil {
		return err
	}
	opened, err := note.Open([]byte(asked.Note), note.VerifierList(verifier))
	if err != nil {
		return err
	}
	// tlog.ParseTree wants Go's own first line; size and root are the two after it in both.
	lines := strings.SplitN(opened.Text, "\n", 2)
	tree, err := tlog.ParseTree([]byte("go.sum database tree\n" + lines[1]))
	if err != nil {
		return err
	}
	if err := tlog.CheckRecord(tlog.RecordProof(hashes(asked.Proof)), tree.N, tree.Hash, asked.Index, tlog.RecordHash(asked.Record)); err != nil {
		return err
	}
	return tlog.CheckTree(tlog.TreeProof(hashes(asked.Tree)), tree.N, tree.Hash, asked.OldSize, hashes([][]byte{asked.OldRoot})[0])
}

func main() {
	if err := check(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("good")
}
